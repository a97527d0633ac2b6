"""What the wire APIs that OpenAI brought up have in common: words of refusals, headers, models, profiles, blocks.

`profile` describes a compatible server as data (the files in `profiles/`); `words` and `headers` speak for whichever
profile is in force; `gates` says what a model can do; `checks` words refusals of single fields; `blocks` makes the
units of the prompt; `seal` makes and checks encrypted content.
"""
