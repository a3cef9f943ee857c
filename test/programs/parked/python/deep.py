import sys

sys.setrecursionlimit(20000)


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


print(depth(15000))
try:
    depth(30000)
except RecursionError as error:
    print(error)
