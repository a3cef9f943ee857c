import heapq
import sys

MOD = 65521


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
        return (self.state >> 8) % limit


def sample_sum(random, count):
    values = sorted(random.below(1000000) for _ in range(count))
    return sum(values[::7])


def count_primes(limit):
    composite = bytearray(limit + 1)
    count = 0
    for n in range(2, limit + 1):
        if composite[n]:
            continue
        count += 1
        for multiple in range(n * n, limit + 1, n):
            composite[multiple] = 1
    return count


def shortest_paths(random, nodes, edges):
    graph = [[] for _ in range(nodes)]
    for _ in range(edges):
        a, b, weight = random.below(nodes), random.below(nodes), 1 + random.below(100)
        graph[a].append((b, weight))
        graph[b].append((a, weight))
    distance = [-1] * nodes
    heap = [(0, 0)]
    while heap:
        so_far, node = heapq.heappop(heap)
        if distance[node] >= 0:
            continue
        distance[node] = so_far
        for target, weight in graph[node]:
            if distance[target] < 0:
                heapq.heappush(heap, (so_far + weight, target))
    return sum(d for d in distance if d >= 0)


def frequent_word(random, count):
    words = {}
    for _ in range(count):
        word = "".join(chr(97 + random.below(4)) for _ in range(4))
        words[word] = words.get(word, 0) + 1
    return min(words.items(), key=lambda item: (-item[1], item[0]))


def common_subsequence(random, length):
    a = [random.below(4) for _ in range(length)]
    b = [random.below(4) for _ in range(length)]
    row = [0] * (length + 1)
    for x in a:
        diagonal = 0
        for j, y in enumerate(b):
            above = row[j + 1]
            row[j + 1] = diagonal + 1 if x == y else max(above, row[j])
            diagonal = above
    return row[length]


def multiply(a, b):
    size = len(a)
    return [[sum(a[i][k] * b[k][j] for k in range(size)) % MOD for j in range(size)] for i in range(size)]


def trace_of_power(random, size, exponent):
    base = [[random.below(MOD) for _ in range(size)] for _ in range(size)]
    result = [[int(i == j) for j in range(size)] for i in range(size)]
    while exponent:
        if exponent & 1:
            result = multiply(result, base)
        base = multiply(base, base)
        exponent >>= 1
    return sum(result[i][i] for i in range(size)) % MOD


class Parser:
    def __init__(self, text):
        self.text = text
        self.at = 0

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def total(self):
        value = self.product()
        while self.peek() == "+":
            self.at += 1
            value = (value + self.product()) % MOD
        return value

    def product(self):
        value = self.atom()
        while self.peek() == "*":
            self.at += 1
            value = value * self.atom() % MOD
        return value

    def atom(self):
        if self.peek() == "(":
            self.at += 1
            value = self.total()
            self.at += 1
            return value
        value = 0
        while self.peek().isdigit():
            value = value * 10 + int(self.peek())
            self.at += 1
        return value


def expression(random, terms):
    parts = ["1"]
    for _ in range(terms):
        parts.append("+*"[random.below(2)])
        parts.append("(%d+%d)" % (random.below(1000), random.below(1000)))
    return "".join(parts)


def main():
    size, seed = map(int, sys.stdin.readline().split())
    random = Random(seed)
    print("sample", sample_sum(random, size))
    print("primes", count_primes(size * 4))
    print("paths", shortest_paths(random, size // 10, size // 4))
    word, count = frequent_word(random, size // 4)
    print("word", word, count)
    print("common", common_subsequence(random, size // 50))
    print("trace", trace_of_power(random, 6, 1000003))
    print("value", Parser(expression(random, size // 20)).total())
    print("mean %.3f" % (sum(random.below(1000) for _ in range(size)) / size))


main()
