package main

import (
	"bufio"
	"container/heap"
	"fmt"
	"os"
	"sort"
	"strings"
)

const mod = 65521

type random struct{ state uint32 }

func (r *random) below(limit int) int {
	r.state = (r.state*1103515245 + 12345) & 0x7fffffff
	return int(r.state>>8) % limit
}

func sampleSum(r *random, count int) int {
	values := make([]int, count)
	for i := range values {
		values[i] = r.below(1000000)
	}
	sort.Ints(values)
	sum := 0
	for i := 0; i < count; i += 7 {
		sum += values[i]
	}
	return sum
}

func countPrimes(limit int) int {
	composite := make([]bool, limit+1)
	count := 0
	for n := 2; n <= limit; n++ {
		if composite[n] {
			continue
		}
		count++
		for multiple := n * n; multiple <= limit; multiple += n {
			composite[multiple] = true
		}
	}
	return count
}

type edge struct{ target, weight int }
type entry struct{ distance, node int }
type entries []entry

func (e entries) Len() int           { return len(e) }
func (e entries) Less(i, j int) bool { return e[i].distance < e[j].distance }
func (e entries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *entries) Push(item any)     { *e = append(*e, item.(entry)) }
func (e *entries) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func shortestPaths(r *random, nodes, edges int) int {
	graph := make([][]edge, nodes)
	for i := 0; i < edges; i++ {
		a, b, weight := r.below(nodes), r.below(nodes), 1+r.below(100)
		graph[a] = append(graph[a], edge{b, weight})
		graph[b] = append(graph[b], edge{a, weight})
	}
	distance := make([]int, nodes)
	for i := range distance {
		distance[i] = -1
	}
	waiting := &entries{{0, 0}}
	sum := 0
	for waiting.Len() > 0 {
		now := heap.Pop(waiting).(entry)
		if distance[now.node] >= 0 {
			continue
		}
		distance[now.node] = now.distance
		sum += now.distance
		for _, e := range graph[now.node] {
			if distance[e.target] < 0 {
				heap.Push(waiting, entry{now.distance + e.weight, e.target})
			}
		}
	}
	return sum
}

func frequentWord(r *random, count int) (string, int) {
	words := map[string]int{}
	for i := 0; i < count; i++ {
		var word strings.Builder
		for j := 0; j < 4; j++ {
			word.WriteByte(byte('a' + r.below(4)))
		}
		words[word.String()]++
	}
	best := ""
	for word, times := range words {
		if best == "" || times > words[best] || times == words[best] && word < best {
			best = word
		}
	}
	return best, words[best]
}

func commonSubsequence(r *random, length int) int {
	a, b, row := make([]int, length), make([]int, length), make([]int, length+1)
	for i := range a {
		a[i] = r.below(4)
	}
	for i := range b {
		b[i] = r.below(4)
	}
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[length]
}

type matrix [6][6]int

func multiply(a, b matrix) (result matrix) {
	for i := range a {
		for j := range a {
			for k := range a {
				result[i][j] = (result[i][j] + a[i][k]*b[k][j]) % mod
			}
		}
	}
	return result
}

func traceOfPower(r *random, exponent int) int {
	var base, result matrix
	for i := range base {
		for j := range base {
			base[i][j] = r.below(mod)
		}
		result[i][i] = 1
	}
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 == 1 {
			result = multiply(result, base)
		}
		base = multiply(base, base)
	}
	trace := 0
	for i := range result {
		trace = (trace + result[i][i]) % mod
	}
	return trace
}

type parser struct {
	text string
	at   int
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) total() int {
	value := p.product()
	for p.peek() == '+' {
		p.at++
		value = (value + p.product()) % mod
	}
	return value
}

func (p *parser) product() int {
	value := p.atom()
	for p.peek() == '*' {
		p.at++
		value = value * p.atom() % mod
	}
	return value
}

func (p *parser) atom() int {
	if p.peek() == '(' {
		p.at++
		value := p.total()
		p.at++
		return value
	}
	value := 0
	for ; p.peek() >= '0' && p.peek() <= '9'; p.at++ {
		value = value*10 + int(p.peek()-'0')
	}
	return value
}

func expression(r *random, terms int) string {
	var text strings.Builder
	text.WriteString("1")
	for i := 0; i < terms; i++ {
		operator := "+*"[r.below(2)]
		left, right := r.below(1000), r.below(1000)
		fmt.Fprintf(&text, "%c(%d+%d)", operator, left, right)
	}
	return text.String()
}

func main() {
	var size int
	var seed uint32
	fmt.Fscan(bufio.NewReader(os.Stdin), &size, &seed)
	r := &random{seed}
	fmt.Println("sample", sampleSum(r, size))
	fmt.Println("primes", countPrimes(size*4))
	fmt.Println("paths", shortestPaths(r, size/10, size/4))
	word, count := frequentWord(r, size/4)
	fmt.Println("word", word, count)
	fmt.Println("common", commonSubsequence(r, size/50))
	fmt.Println("trace", traceOfPower(r, 1000003))
	fmt.Println("value", (&parser{text: expression(r, size/20)}).total())
	sum := 0
	for i := 0; i < size; i++ {
		sum += r.below(1000)
	}
	fmt.Printf("mean %.3f\n", float64(sum)/float64(size))
}
