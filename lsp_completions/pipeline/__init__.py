"""From cursor to edit: the stages, in the order they run. Pure: no clock, network, disk or log.

    positions    line and column <-> columns in the editor's units; where lines end
    uris         one key per document, and the path shown to a model
    rope         a long text in short pieces, shared between snapshots
    document     the text of an open document: replaced, never mutated
    languages    one table of languages
    context      the text around the cursor
    trigger      may we ask at all? one line or a block?
    templates    fill-in-the-middle tokens per model family
    prompt       context and excerpts -> what is sent to the model
    stream       streamed pieces -> a candidate as soon as it is good enough
    edit         what to replace
    rebase       the same, in the document as it is by now
    postprocess  candidate -> text that fits what stands around the cursor
    outcome      what came of a request; nothing to show is a value
"""
