"""Why nothing shows: all that has to be right for a suggestion, looked at one after the other.

    steps            what is told of one thing that was looked at
    on_this_machine  settings, and who answers by them; the embedded model; what is kept back here
    on_the_way       proxy, connection, certificate
    of_an_instance   what a Sourcegraph instance says
    of_own_server    what a model server of one's own says
    of_a_completion  what came of one
    asking, trial    one question; one completion
    examination      looks, asks, and waits for none of it too long
    listing          the models that can be chosen

Up to `of_a_completion` all is pure: what was found goes in, what is told of it comes out.
"""
