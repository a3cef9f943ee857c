#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOD = 65521, SIZE = 6, WORDS = 256 };

static unsigned state;

static int below(int limit)
{
	state = (state * 1103515245u + 12345u) & 0x7fffffffu;
	return (int)(state >> 8) % limit;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

static long sample_sum(int count)
{
	int *values = malloc(sizeof *values * (size_t)count);
	long sum = 0;
	for (int i = 0; i < count; i++)
		values[i] = below(1000000);
	qsort(values, (size_t)count, sizeof *values, compare);
	for (int i = 0; i < count; i += 7)
		sum += values[i];
	free(values);
	return sum;
}

static int count_primes(int limit)
{
	char *composite = calloc((size_t)limit + 1, 1);
	int count = 0;
	for (long n = 2; n <= limit; n++) {
		if (composite[n])
			continue;
		count++;
		for (long multiple = n * n; multiple <= limit; multiple += n)
			composite[multiple] = 1;
	}
	free(composite);
	return count;
}

struct edge { int target, weight, next; };
struct entry { long distance; int node; };

static void heap_push(struct entry *heap, int *count, struct entry item)
{
	int at = (*count)++;
	while (at > 0 && heap[(at - 1) / 2].distance > item.distance) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = item;
}

static struct entry heap_pop(struct entry *heap, int *count)
{
	struct entry top = heap[0], last = heap[--*count];
	int at = 0;
	for (int child; (child = 2 * at + 1) < *count; at = child) {
		if (child + 1 < *count && heap[child + 1].distance < heap[child].distance)
			child++;
		if (last.distance <= heap[child].distance)
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return top;
}

static long shortest_paths(int nodes, int edges)
{
	struct edge *edge = malloc(sizeof *edge * (size_t)edges * 2);
	struct entry *heap = malloc(sizeof *heap * ((size_t)edges * 2 + 1));
	long *distance = malloc(sizeof *distance * (size_t)nodes), sum = 0;
	int *first = malloc(sizeof *first * (size_t)nodes), count = 0;
	for (int i = 0; i < nodes; i++)
		first[i] = -1, distance[i] = -1;
	for (int i = 0; i < edges; i++) {
		int a = below(nodes), b = below(nodes), weight = 1 + below(100);
		edge[2 * i] = (struct edge){b, weight, first[a]};
		first[a] = 2 * i;
		edge[2 * i + 1] = (struct edge){a, weight, first[b]};
		first[b] = 2 * i + 1;
	}
	heap_push(heap, &count, (struct entry){0, 0});
	while (count > 0) {
		struct entry now = heap_pop(heap, &count);
		if (distance[now.node] >= 0)
			continue;
		distance[now.node] = now.distance;
		sum += now.distance;
		for (int e = first[now.node]; e >= 0; e = edge[e].next)
			if (distance[edge[e].target] < 0)
				heap_push(heap, &count, (struct entry){now.distance + edge[e].weight, edge[e].target});
	}
	free(edge), free(heap), free(distance), free(first);
	return sum;
}

static void frequent_word(int count)
{
	int counts[WORDS] = {0}, best = 0;
	for (int i = 0; i < count; i++) {
		int word = 0;
		for (int j = 0; j < 4; j++)
			word = word * 4 + below(4);
		counts[word]++;
	}
	for (int i = 1; i < WORDS; i++)
		if (counts[i] > counts[best])
			best = i;
	printf("word ");
	for (int shift = 6; shift >= 0; shift -= 2)
		putchar('a' + ((best >> shift) & 3));
	printf(" %d\n", counts[best]);
}

static int common_subsequence(int length)
{
	int *a = malloc(sizeof *a * (size_t)length), *b = malloc(sizeof *b * (size_t)length);
	int *row = calloc((size_t)length + 1, sizeof *row);
	for (int i = 0; i < length; i++)
		a[i] = below(4);
	for (int i = 0; i < length; i++)
		b[i] = below(4);
	for (int i = 0; i < length; i++)
		for (int j = 0, diagonal = 0; j < length; j++) {
			int above = row[j + 1];
			row[j + 1] = a[i] == b[j] ? diagonal + 1 : above > row[j] ? above : row[j];
			diagonal = above;
		}
	int result = row[length];
	free(a), free(b), free(row);
	return result;
}

static void multiply(long to[SIZE][SIZE], long a[SIZE][SIZE], long b[SIZE][SIZE])
{
	long result[SIZE][SIZE] = {{0}};
	for (int i = 0; i < SIZE; i++)
		for (int j = 0; j < SIZE; j++)
			for (int k = 0; k < SIZE; k++)
				result[i][j] = (result[i][j] + a[i][k] * b[k][j]) % MOD;
	memcpy(to, result, sizeof result);
}

static long trace_of_power(long exponent)
{
	long base[SIZE][SIZE], result[SIZE][SIZE] = {{0}}, trace = 0;
	for (int i = 0; i < SIZE; i++)
		for (int j = 0; j < SIZE; j++)
			base[i][j] = below(MOD);
	for (int i = 0; i < SIZE; i++)
		result[i][i] = 1;
	for (; exponent > 0; exponent >>= 1) {
		if (exponent & 1)
			multiply(result, result, base);
		multiply(base, base, base);
	}
	for (int i = 0; i < SIZE; i++)
		trace = (trace + result[i][i]) % MOD;
	return trace;
}

static const char *at;

static long total(void);

static long atom(void)
{
	long value = 0;
	if (*at == '(') {
		at++;
		value = total();
		at++;
		return value;
	}
	while (*at >= '0' && *at <= '9')
		value = value * 10 + *at++ - '0';
	return value;
}

static long product(void)
{
	long value = atom();
	while (*at == '*') {
		at++;
		value = value * atom() % MOD;
	}
	return value;
}

static long total(void)
{
	long value = product();
	while (*at == '+') {
		at++;
		value = (value + product()) % MOD;
	}
	return value;
}

static long value_of_expression(int terms)
{
	char *text = malloc((size_t)terms * 12 + 2), *end = text;
	end += sprintf(end, "1");
	for (int i = 0; i < terms; i++) {
		char operator = "+*"[below(2)];
		int left = below(1000), right = below(1000);
		end += sprintf(end, "%c(%d+%d)", operator, left, right);
	}
	at = text;
	long value = total();
	free(text);
	return value;
}

int main(void)
{
	int size;
	long sum = 0;
	if (scanf("%d %u", &size, &state) != 2)
		return 1;
	printf("sample %ld\n", sample_sum(size));
	printf("primes %d\n", count_primes(size * 4));
	printf("paths %ld\n", shortest_paths(size / 10, size / 4));
	frequent_word(size / 4);
	printf("common %d\n", common_subsequence(size / 50));
	printf("trace %ld\n", trace_of_power(1000003));
	printf("value %ld\n", value_of_expression(size / 20));
	for (int i = 0; i < size; i++)
		sum += below(1000);
	printf("mean %.3f\n", (double)sum / size);
	return 0;
}
