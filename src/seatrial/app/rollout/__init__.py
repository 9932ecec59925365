"""What is asked of rollouts.

    picking     which one is meant                       wishing     what a person may say to one under way
    options     what is said of one that is to begin     resource    the GPURollout that makes
    targeting   what it upgrades to                      starting    what it begins with, and that it begins
    chaining    one for each step of a plan              rehearsing  what it would write, in a simulated cluster
    adopting    upgrades that somebody left half-done    noting      which version a person saw on a node
    checks/     what is asked before a start             outset      what it begins with, as one value
    reverting   what an undo would write in Git

Law of this room: nothing is created that was not judged and shown, and a wish is written upon what was looked at.
"""
