"""Why nothing shows: all that has to be right for a suggestion, looked at one after the other.

    steps            what is told of one thing that was looked at
    on_this_machine  settings, and who answers by them; the embedded model; what is kept back here
    on_the_way       proxy, connection, certificate
    at_the_other_end a Sourcegraph instance, or a model server of one's own
    examination      looks, asks, and waits for none of it too long

All but the last are pure: what was found goes in, what is told of it comes out.
"""
