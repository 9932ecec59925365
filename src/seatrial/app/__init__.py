"""Use cases, below the command line: what a command, a page or a test asks for, as values in and values out.

    connecting    which cluster is meant             picking     which rollout is meant
    wishing       what a person may say to one       judging     what the rules say about a matrix
    planning      the way between two of its entries, as a plan_document for scripts

Law of this room: nobody is asked, nothing is printed, and no word of a command line is parsed here. What may not be
done is an error whose message says what to do; what was found is a value, and who asked says it in their own words.
"""
