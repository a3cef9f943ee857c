use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt::Write;
use std::io::Read;

const MOD: u64 = 65521;

struct Random {
    state: u32,
}

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_mul(1103515245).wrapping_add(12345) & 0x7fffffff;
        (self.state >> 8) as usize % limit
    }
}

fn sample_sum(random: &mut Random, count: usize) -> usize {
    let mut values: Vec<usize> = (0..count).map(|_| random.below(1000000)).collect();
    values.sort_unstable();
    values.iter().step_by(7).sum()
}

fn count_primes(limit: usize) -> usize {
    let mut composite = vec![false; limit + 1];
    let mut count = 0;
    for n in 2..=limit {
        if composite[n] {
            continue;
        }
        count += 1;
        for multiple in (n * n..=limit).step_by(n) {
            composite[multiple] = true;
        }
    }
    count
}

fn shortest_paths(random: &mut Random, nodes: usize, edges: usize) -> usize {
    let mut graph = vec![Vec::new(); nodes];
    for _ in 0..edges {
        let (a, b, weight) = (random.below(nodes), random.below(nodes), 1 + random.below(100));
        graph[a].push((b, weight));
        graph[b].push((a, weight));
    }
    let mut distance: Vec<Option<usize>> = vec![None; nodes];
    let mut heap = BinaryHeap::from([Reverse((0, 0))]);
    while let Some(Reverse((so_far, node))) = heap.pop() {
        if distance[node].is_some() {
            continue;
        }
        distance[node] = Some(so_far);
        for &(target, weight) in &graph[node] {
            if distance[target].is_none() {
                heap.push(Reverse((so_far + weight, target)));
            }
        }
    }
    distance.iter().flatten().sum()
}

fn frequent_word(random: &mut Random, count: usize) -> (String, usize) {
    let mut words: HashMap<String, usize> = HashMap::new();
    for _ in 0..count {
        let word = (0..4).map(|_| (b'a' + random.below(4) as u8) as char).collect();
        *words.entry(word).or_insert(0) += 1;
    }
    words.into_iter().min_by_key(|(word, times)| (Reverse(*times), word.clone())).unwrap()
}

fn common_subsequence(random: &mut Random, length: usize) -> usize {
    let a: Vec<usize> = (0..length).map(|_| random.below(4)).collect();
    let b: Vec<usize> = (0..length).map(|_| random.below(4)).collect();
    let mut row = vec![0; length + 1];
    for x in &a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row[length]
}

type Matrix = [[u64; 6]; 6];

fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let mut result = Matrix::default();
    for i in 0..6 {
        for j in 0..6 {
            for k in 0..6 {
                result[i][j] = (result[i][j] + a[i][k] * b[k][j]) % MOD;
            }
        }
    }
    result
}

fn trace_of_power(random: &mut Random, mut exponent: u32) -> u64 {
    let mut base = Matrix::default();
    let mut result = Matrix::default();
    for line in base.iter_mut() {
        for value in line.iter_mut() {
            *value = random.below(MOD as usize) as u64;
        }
    }
    for (i, line) in result.iter_mut().enumerate() {
        line[i] = 1;
    }
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(&result, &base);
        }
        base = multiply(&base, &base);
        exponent >>= 1;
    }
    (0..6).fold(0, |trace, i| (trace + result[i][i]) % MOD)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> u8 {
        *self.text.get(self.at).unwrap_or(&0)
    }

    fn total(&mut self) -> u64 {
        let mut value = self.product();
        while self.peek() == b'+' {
            self.at += 1;
            value = (value + self.product()) % MOD;
        }
        value
    }

    fn product(&mut self) -> u64 {
        let mut value = self.atom();
        while self.peek() == b'*' {
            self.at += 1;
            value = value * self.atom() % MOD;
        }
        value
    }

    fn atom(&mut self) -> u64 {
        if self.peek() == b'(' {
            self.at += 1;
            let value = self.total();
            self.at += 1;
            return value;
        }
        let mut value = 0;
        while self.peek().is_ascii_digit() {
            value = value * 10 + (self.peek() - b'0') as u64;
            self.at += 1;
        }
        value
    }
}

fn expression(random: &mut Random, terms: usize) -> String {
    let mut text = String::from("1");
    for _ in 0..terms {
        let operator = ['+', '*'][random.below(2)];
        let (left, right) = (random.below(1000), random.below(1000));
        write!(text, "{operator}({left}+{right})").unwrap();
    }
    text
}

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let numbers: Vec<u32> = input.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let (size, mut random) = (numbers[0] as usize, Random { state: numbers[1] });
    println!("sample {}", sample_sum(&mut random, size));
    println!("primes {}", count_primes(size * 4));
    println!("paths {}", shortest_paths(&mut random, size / 10, size / 4));
    let (word, count) = frequent_word(&mut random, size / 4);
    println!("word {word} {count}");
    println!("common {}", common_subsequence(&mut random, size / 50));
    println!("trace {}", trace_of_power(&mut random, 1000003));
    println!("value {}", Parser { text: expression(&mut random, size / 20).as_bytes(), at: 0 }.total());
    let sum: usize = (0..size).map(|_| random.below(1000)).sum();
    println!("mean {:.3}", sum as f64 / size as f64);
}
