"""Uses each feature of Judge0's Python package, as published, and prints what each has given as JSON."""

import json
import sys

import judge0
from judge0 import Filesystem, Submission, TestCase

asked = json.load(sys.stdin)
client = judge0.Client(asked["url"], {"X-Auth-Token": asked["key"]})
SUM = "print(sum(map(int, input().split())))"


def file(name, content):
    return judge0.File(name=name, content=content)


def told(submission):
    return {
        "status": str(submission.status),
        "stdout": submission.stdout,
        "stderr": submission.stderr,
        "compile_output": submission.compile_output,
        "exit_code": submission.exit_code,
        "time": submission.time,
        "memory": submission.memory,
        "finished": submission.finished_at is not None and submission.finished_at >= submission.created_at,
    }


def run(**fields):
    made = judge0.run(client=client, **fields)
    return [told(one) for one in made] if isinstance(made, list) else told(made)


def information():
    return {
        "version": client.version,
        "about": client.get_about()["version"],
        "languages": sorted(one.id for one in client.languages),
        "python": client.get_language(71).name,
        "statuses": len(client.get_statuses()),
        "batch": client.get_config_info().max_submission_batch_size,
        "supported": [client.is_language_supported(one) for one in (judge0.PYTHON, judge0.CPP_GCC, judge0.COBOL)],
    }


def one_submission():
    made = client.create_submission(Submission(source_code="print('hé')", language=judge0.PYTHON))
    assert not made.is_done()
    judge0.wait(client=client, submissions=made, retry_strategy=judge0.MaxWaitTime(30))
    again = client.get_submission(Submission(token=made.token), fields=["stdout", "status", "token"])
    return [told(made), again.stdout, again.token == made.token, again.source_code]


def batch():
    made = [Submission(source_code=f"print({n})", language=judge0.PYTHON) for n in range(3)]
    client.create_submissions(made)
    judge0.wait(client=client, submissions=made, retry_strategy=judge0.RegularPeriodRetry(0.2))
    again = client.get_submissions(made, fields="stdout")
    return [one.stdout for one in again]


def more_than_a_batch():
    made = judge0.run(
        client=client,
        submissions=[Submission(source_code=f"print({n})", language=judge0.PYTHON) for n in range(23)],
    )
    return [one.stdout for one in made] == [f"{n}\n" for n in range(23)]


def test_cases():
    common = {"source_code": SUM, "language": judge0.PYTHON}
    return {
        "one": run(**common, test_cases=TestCase("1 2", "3")),
        "pair": run(**common, test_cases=("1 2", "4")),
        "record": run(**common, test_cases={"input": "2 2", "expected_output": "4"}),
        "several": run(**common, test_cases=[("1 2", "3"), ["1 1", "3"], TestCase("5 5", "10\n\n")]),
        "submissions": len(
            run(submissions=[Submission(**common), Submission(**common)], test_cases=[("1 2", "3"), ("2 2", "4")])
        ),
    }


def asynchronous():
    made = judge0.async_run(client=client, source_code="print(7)", language=judge0.PYTHON)
    before = made.is_done()
    judge0.wait(client=client, submissions=made, retry_strategy=judge0.MaxRetries(300))
    return [before, told(made), list(made)]


def filesystem():
    files = Filesystem(content=[file("amounts.py", "ONE = 1"), file("data/words.txt", b"a\nb\n")])
    assert Filesystem(content=str(files)).find("./amounts.py").content == b"ONE = 1"
    module = run(
        source_code="from amounts import ONE\nprint(ONE, open('data/words.txt').read().split())",
        language=judge0.PYTHON,
        additional_files=files,
    )
    scripts = Filesystem(
        content=[
            file("compile", "g++ -o program main.cpp word.cpp"),
            file("run", "./program"),
            file("main.cpp", '#include <iostream>\n#include "word.h"\nint main() { std::cout << word(); }'),
            file("word.h", "const char *word();"),
            file("word.cpp", '#include "word.h"\nconst char *word() { return "two files"; }'),
        ]
    )
    broken = Filesystem(content=[file("compile", "g++ main.cpp"), file("run", "./a.out"), file("main.cpp", "int")])
    plain = Filesystem(content=file("run", "read name\necho hello $name\npython3 -c 'print(6 * 7)'"))
    multi = judge0.MULTI_FILE
    return {
        "module": module,
        "compiled": run(language=multi, source_code="", additional_files=scripts),
        "broken": run(language=multi, source_code="", additional_files=broken),
        "plain": run(language=multi, source_code="", additional_files=plain, stdin="you"),
    }


def settings():
    python = {"language": judge0.PYTHON}
    return {
        "arguments": run(
            source_code="import sys\nprint(sys.argv[1:])", command_line_arguments="-n 'two words' $HOME", **python
        ),
        "options": run(
            source_code="int main() { return VALUE; }", language=judge0.C, compiler_options="-DVALUE=3 -Wall -O3"
        ),
        # The first run compiles the program. The second one uses the files that were kept from the first.
        "warnings": [
            run(
                source_code="int main(void) { int unused; return 0; }",
                language=judge0.C,
                compiler_options="-Wall",
            )
            for _ in range(2)
        ],
        "redirected": run(
            source_code="import sys\nprint(1, flush=True)\nprint(2, file=sys.stderr)",
            redirect_stderr_to_stdout=True,
            **python,
        ),
        "cpu": run(source_code="while True: pass", cpu_time_limit=0.3, **python),
        "wall": run(source_code="import time\ntime.sleep(5)", wall_time_limit=1, cpu_extra_time=0.5, **python),
        "memory": run(source_code="x = bytearray(90 << 20)", memory_limit=51200, **python),
        "file": run(source_code="with open('a', 'wb') as a: a.write(bytes(100000))", max_file_size=2, **python),
        "others": run(
            source_code="print(1)",
            stack_limit=8192,
            max_processes_and_or_threads=4,
            enable_per_process_and_thread_time_limit=False,
            enable_per_process_and_thread_memory_limit=False,
            enable_network=False,
            **python,
        ),
        "runs": run(
            source_code="#include <stdio.h>\nint main(void) { puts(\"1\"); }",
            language=judge0.C,
            expected_output="1",
            number_of_runs=3,
        ),
        # Each run fails with a probability of one half: all 20 pass once in a million times.
        "failing_run": run(
            source_code="import os, sys\nprint(1)\nsys.exit(3 if os.urandom(1)[0] % 2 else 0)",
            number_of_runs=20,
            **python,
        ),
    }


def endings():
    return {
        "compilation": run(source_code="int main( {", language=judge0.CPP),
        "segfault": run(source_code="int main() { *(volatile int *)0 = 1; }", language=judge0.C),
        "exit": run(source_code="raise SystemExit(3)", language=judge0.PYTHON),
        "bytes": run(source_code="import sys\nsys.stdout.buffer.write(b'\\xff')", language=judge0.PYTHON),
        "languages": [
            run(source_code=source, language=language)["stdout"]
            for language, source in (
                (judge0.JAVASCRIPT, "console.log(1)"),
                (judge0.TYPESCRIPT, "const n: number = 2; console.log(n)"),
                (judge0.JAVA, "class Main { public static void main(String[] a) { System.out.println(3); } }"),
                (judge0.GO, 'package main\nimport "fmt"\nfunc main() { fmt.Println(4) }'),
                (judge0.RUST, 'fn main() { println!("5"); }'),
            )
        ],
    }


def refused():
    texts = []
    for fields in ({"wall_time_limit": 0}, {"enable_network": True}, {"number_of_runs": 21}):
        try:
            run(source_code="print(1)", language=judge0.PYTHON, **fields)
        except Exception as error:
            texts.append(str(error)[:60])
    try:
        run(source_code="x", language=judge0.COBOL)
    except RuntimeError:
        texts.append("not supported")
    return texts


def implicit():
    """The client from the environment, as scripts use it."""
    return told(judge0.run(source_code="print(9)", language=judge0.PYTHON))


FEATURES = (
    information,
    one_submission,
    batch,
    more_than_a_batch,
    test_cases,
    asynchronous,
    filesystem,
    settings,
    endings,
    refused,
    implicit,
)
print(json.dumps({feature.__name__: feature() for feature in FEATURES}))
