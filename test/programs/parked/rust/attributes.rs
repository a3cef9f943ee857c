// What the kernel keeps for the compiler, its thread and its mappings: the compiler reads it.
const FILES: [&str; 8] = [
    include_str!("/proc/self/status"),
    include_str!("/proc/thread-self/status"),
    include_str!("/proc/self/limits"),
    include_str!("/proc/self/personality"),
    include_str!("/proc/self/timerslack_ns"),
    include_str!("/proc/self/coredump_filter"),
    include_str!("/proc/self/oom_score_adj"),
    include_str!("/proc/self/environ"),
];
// Numbers and amounts that differ between two new programs as well, and the stack limit, which lets the program start by itself.
const VARIES: [&str; 15] = [
    "State", "Tgid", "Ngid", "Pid", "PPid", "NS", "Vm", "Rss", "HugetlbPages", "SigQ", "voluntary", "nonvoluntary", "Cpus_allowed", "Threads",
    "Max stack size",
];
const PLAIN: [&str; 17] = ["rd", "wr", "ex", "mr", "mw", "me", "sh", "ms", "io", "pf", "dw", "sd", "gd", "ac", "nr", "mt", "de"];

fn main() {
    for line in FILES.iter().flat_map(|file| file.lines()) {
        if !VARIES.iter().any(|word| line.starts_with(word)) {
            println!("{line}");
        }
    }
    let mut kinds = std::collections::BTreeSet::new();
    for line in include_str!("/proc/self/smaps").lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            kinds.insert(flags.split_whitespace().filter(|flag| !PLAIN.contains(flag)).collect::<Vec<_>>().join(" "));
        }
    }
    println!("{kinds:?}");
}
