"""From cursor to edit: the stages, in the order they run. Pure: no clock, network, disk or log.

positions    columns in characters <-> columns in the editor's units
uris         one key per document, and the path shown to a model
rope         a long text in short pieces, shared between snapshots; where lines end
document     the text of an open document: replaced, never mutated
languages    one table of languages
grammar      what parses a language, where it is installed
brackets     which brackets, strings and comments are open
context      the text around the cursor
anchor       a place known by the text around it, and what was typed there since
masking      secrets in the text, taken out of what is sent
surroundings how far lines are indented, and which stand above and below
balance      whether brackets and quotes have their partners
syntax       what the grammar makes of the text around the cursor
trigger      one line or a block?
again        lines above the cursor, said once more
chains       a statement that goes on in the next line, though it could be over
extent       where a suggestion ends
echoes       the beginning of the line, said again
markers      special tokens in what a model says
wrapping     fences and chatter around code
repetition   text that goes round in circles
definitions  where names are defined
imports      what a text imports, and which files that may mean
templates    fill-in-the-middle tokens per model family
chats        words for models that chat
prompt       context and excerpts -> what is sent to the model
excerpts     code from elsewhere that is worth showing
replies      the code in what a model that chats says, while it says it
stream       streamed pieces -> a candidate as soon as it is good enough
edit         what to replace
candidates   several suggestions for one place, best first
postprocess  candidate -> text that fits what stands around the cursor
outcome      what came of a request; nothing to show is a value
asking       may a model be asked where the cursor stands?
rebase       an edit, in the document as it is by now
"""
