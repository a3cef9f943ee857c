#include <bits/stdc++.h>

constexpr int MOD = 65521;

class Random {
	unsigned state;

public:
	explicit Random(unsigned seed) : state(seed) {}

	int below(int limit)
	{
		state = (state * 1103515245u + 12345u) & 0x7fffffffu;
		return static_cast<int>(state >> 8) % limit;
	}
};

long sample_sum(Random &random, int count)
{
	std::vector<int> values(count);
	std::generate(values.begin(), values.end(), [&] { return random.below(1000000); });
	std::sort(values.begin(), values.end());
	long sum = 0;
	for (int i = 0; i < count; i += 7)
		sum += values[i];
	return sum;
}

int count_primes(long limit)
{
	std::vector<char> composite(limit + 1);
	int count = 0;
	for (long n = 2; n <= limit; n++) {
		if (composite[n])
			continue;
		count++;
		for (long multiple = n * n; multiple <= limit; multiple += n)
			composite[multiple] = 1;
	}
	return count;
}

long shortest_paths(Random &random, int nodes, int edges)
{
	std::vector<std::vector<std::pair<int, int>>> graph(nodes);
	for (int i = 0; i < edges; i++) {
		int a = random.below(nodes), b = random.below(nodes), weight = 1 + random.below(100);
		graph[a].emplace_back(b, weight);
		graph[b].emplace_back(a, weight);
	}
	std::vector<long> distance(nodes, -1);
	using Entry = std::pair<long, int>;
	std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap;
	heap.emplace(0, 0);
	long sum = 0;
	while (!heap.empty()) {
		auto [so_far, node] = heap.top();
		heap.pop();
		if (distance[node] >= 0)
			continue;
		distance[node] = so_far;
		sum += so_far;
		for (auto [target, weight] : graph[node])
			if (distance[target] < 0)
				heap.emplace(so_far + weight, target);
	}
	return sum;
}

std::pair<std::string, int> frequent_word(Random &random, int count)
{
	std::unordered_map<std::string, int> words;
	for (int i = 0; i < count; i++) {
		std::string word;
		for (int j = 0; j < 4; j++)
			word += static_cast<char>('a' + random.below(4));
		words[word]++;
	}
	return *std::min_element(words.begin(), words.end(), [](const auto &a, const auto &b) {
		return std::make_pair(-a.second, a.first) < std::make_pair(-b.second, b.first);
	});
}

int common_subsequence(Random &random, int length)
{
	std::vector<int> a(length), b(length), row(length + 1);
	for (int &x : a)
		x = random.below(4);
	for (int &x : b)
		x = random.below(4);
	for (int x : a) {
		int diagonal = 0;
		for (int j = 0; j < length; j++) {
			int above = row[j + 1];
			row[j + 1] = x == b[j] ? diagonal + 1 : std::max(above, row[j]);
			diagonal = above;
		}
	}
	return row[length];
}

using Matrix = std::array<std::array<long, 6>, 6>;

Matrix multiply(const Matrix &a, const Matrix &b)
{
	Matrix result{};
	for (size_t i = 0; i < a.size(); i++)
		for (size_t j = 0; j < a.size(); j++)
			for (size_t k = 0; k < a.size(); k++)
				result[i][j] = (result[i][j] + a[i][k] * b[k][j]) % MOD;
	return result;
}

long trace_of_power(Random &random, int exponent)
{
	Matrix base{}, result{};
	for (auto &line : base)
		for (auto &value : line)
			value = random.below(MOD);
	for (size_t i = 0; i < result.size(); i++)
		result[i][i] = 1;
	for (; exponent > 0; exponent >>= 1) {
		if (exponent & 1)
			result = multiply(result, base);
		base = multiply(base, base);
	}
	long trace = 0;
	for (size_t i = 0; i < result.size(); i++)
		trace = (trace + result[i][i]) % MOD;
	return trace;
}

class Parser {
	std::string text;
	size_t at = 0;

	long product()
	{
		long value = atom();
		while (text[at] == '*') {
			at++;
			value = value * atom() % MOD;
		}
		return value;
	}

	long atom()
	{
		long value = 0;
		if (text[at] == '(') {
			at++;
			value = total();
			at++;
			return value;
		}
		while (std::isdigit(text[at]))
			value = value * 10 + text[at++] - '0';
		return value;
	}

public:
	explicit Parser(std::string from) : text(std::move(from)) {}

	long total()
	{
		long value = product();
		while (text[at] == '+') {
			at++;
			value = (value + product()) % MOD;
		}
		return value;
	}
};

std::string expression(Random &random, int terms)
{
	std::ostringstream text;
	text << 1;
	for (int i = 0; i < terms; i++) {
		char operation = "+*"[random.below(2)];
		int left = random.below(1000), right = random.below(1000);
		text << operation << '(' << left << '+' << right << ')';
	}
	return text.str();
}

int main()
{
	int size;
	unsigned seed;
	std::cin >> size >> seed;
	Random random(seed);
	std::cout << "sample " << sample_sum(random, size) << '\n';
	std::cout << "primes " << count_primes(size * 4) << '\n';
	std::cout << "paths " << shortest_paths(random, size / 10, size / 4) << '\n';
	auto [word, count] = frequent_word(random, size / 4);
	std::cout << "word " << word << ' ' << count << '\n';
	std::cout << "common " << common_subsequence(random, size / 50) << '\n';
	std::cout << "trace " << trace_of_power(random, 1000003) << '\n';
	std::cout << "value " << Parser(expression(random, size / 20)).total() << '\n';
	long sum = 0;
	for (int i = 0; i < size; i++)
		sum += random.below(1000);
	std::cout << "mean " << std::fixed << std::setprecision(3) << static_cast<double>(sum) / size << '\n';
}
