"""Use cases, below the command line: what a command, a page or a test asks for, as values in and values out.

    connecting  which cluster is meant              matrix/    what the rules say about versions, and the way to others
    texts       files that a person names           rollout/   which rollout is meant, how one begins, what it is told
    errors      what may be answered instead        looking    what is there; waits for what, by whose word; its picture
    forecasting what an upgrade will cost           promoting  what is missing before a campaign may be promoted
    survey/     a whole cluster once: what runs, what is wrong, and both in a file

Law of this room: nobody is asked, nothing is printed, and no word of a command line is parsed here. What may not be
done is an error whose message says what to do; what was found is a value, and who asked says it in their own words.
"""
