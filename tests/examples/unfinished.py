import json


def read_config(path):
    with open(path) as file:
        config = 
