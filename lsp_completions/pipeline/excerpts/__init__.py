"""Code from elsewhere that is worth showing: texts cut to pieces, ranked together, fit to a budget.

words     the words in names, and which of them say something
index     a text cut to pieces, ready to be searched
query     what is looked for around a cursor
ranking   which pieces are wanted there, the best first
choosing  those that fit a budget, as excerpts
"""
