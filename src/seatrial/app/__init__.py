"""Use cases, below the command line: what a command, a page or a test asks for, as values in and values out.

    connecting    which cluster is meant                 picking       which rollout is meant
    judging       what the rules say about a matrix      wishing       what a person may say to one under way
    planning      the way between two of its entries     targeting     what a rollout upgrades to, and objections
    plan_document that way, written and read             options       what is said of a rollout that is to begin
    resource      the GPURollout that makes              starting      what it begins with, and that it begins
    chaining      one rollout for each step of a plan    rehearsing    what it would write, in a simulated cluster
    adopting      upgrades somebody left half-done       forecasting   what an upgrade will cost
    noting        which version a person saw on a node
    looking       what is there                          waits         what a rollout waits for, by whose word
    picture       a campaign as people look at it

Law of this room: nobody is asked, nothing is printed, and no word of a command line is parsed here. What may not be
done is an error whose message says what to do; what was found is a value, and who asked says it in their own words.
"""
