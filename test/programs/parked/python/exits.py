import sys

print(input(), file=sys.stderr)
try:
    input()
    input()
except EOFError as error:
    print(repr(error))
sys.exit("the reason")
