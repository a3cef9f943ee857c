"""
Runs a checker or a grader that is written in Python for DMOJ, in the box of a checker with the interface `kattis-partial`
(src/worker/checker-interfaces.ts). The last argument is JSON: what to call (src/problems/dmoj-python.ts). The modules in `dmoj` offer
what such programs import.
"""

import json
import os
import sys
import traceback
import types

from dmoj import checkers, graders
from dmoj.result import CheckerResult, Result

ACCEPTED, REJECTED, FAILED = 42, 43, 1
MESSAGE_BYTES = 2000

# DMOJ's names of languages, which checkers compare.
LANGUAGES = {
    "c": "C11",
    "cpp": "CPP20",
    "java": "JAVA",
    "javascript": "NODEJS",
    "pascal": "PAS",
    "pypy": "PYPY3",
    "python": "PY3",
    "csharp": "MONOCS",
}


class Case:
    """A test as checkers and graders see it."""

    def __init__(self, settings, input_path, answer_path):
        self.points = settings["points"]
        self.position = settings["position"]
        self.batch = settings["batch"]
        self.has_binary_data = settings["binary"]
        self.config = types.SimpleNamespace(points=self.points, binary_data=self.has_binary_data)
        self._paths = input_path, answer_path

    def input_data(self):
        return contents(self._paths[0])

    def output_data(self):
        return contents(self._paths[1])


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def load(path):
    """The module in a file of the package. It is not found by an import, because its name can be that of another module."""
    module = types.ModuleType(os.path.basename(path).rpartition(".")[0])
    module.__file__ = path
    exec(compile(contents(path), path, "exec"), module.__dict__)
    return module


def run_of(case):
    """The run of the submission as far as it is known: of a run that an interactor accompanies, only the language."""
    with open("judge/run.json", encoding="utf-8") as file:
        facts = json.load(file)
    result = Result(case)
    result.execution_time = facts.get("cpu_time_secs", 0.0)
    result.wall_clock_time = facts.get("wall_time_secs", 0.0)
    result.max_memory = facts.get("memory_peak_bytes", 0) / 1024
    return result, LANGUAGES.get(facts["language"], facts["language"].upper())


def checked(settings, case):
    """Calls a checker. Returns what it returned, and the result that it may have changed."""
    check = load(settings["file"]).check if "file" in settings else getattr(checkers, settings["name"]).check
    result, language = run_of(case)
    result.proc_output = sys.stdin.buffer.read()
    known = {
        "submission_source": contents("judge/source"),
        "judge_input": case.input_data(),
        "point_value": case.points,
        "case_position": case.position,
        "batch": case.batch,
        "submission_language": language,
        "binary_data": case.has_binary_data,
        "execution_time": result.execution_time,
        "problem_id": settings["problem"],
        "case": case,
        "result": result,
    }
    try:
        return check(result.proc_output, case.output_data(), **{**settings["args"], **known}), result
    except UnicodeDecodeError:
        return CheckerResult(False, 0, feedback="invalid unicode"), result


def graded(settings, case):
    """Calls a grader. Returns what it returned, and the result that it may have changed."""
    result, language = run_of(case)
    grader_class = load(settings["file"]).Grader
    graders.refuse_overrides(grader_class)
    problem = types.SimpleNamespace(id=settings["problem"])
    grader = grader_class(None, problem, language, contents("judge/source"))
    if isinstance(grader, graders.InteractiveGrader):
        graders.accompany(grader, case, result)
    else:
        result.proc_output = sys.stdin.buffer.read()
    return grader.check_result(case, result), result


def decide(check, case, result):
    """The exit code and the share of the points, which is None if it follows from the exit code."""
    if not isinstance(check, CheckerResult):
        check = CheckerResult(check, case.points if check else 0.0)
    if result.result_flag & ~Result.WA:
        raise ValueError("a verdict other than AC and WA cannot be set: %s" % result.readable_codes())
    passed = check.passed and not result.result_flag
    texts = [check.feedback or result.feedback, check.extended_feedback or result.extended_feedback]
    message = "\n".join(text for text in texts if text)
    with open("feedback/judgemessage.txt", "wb") as file:
        file.write(message.encode("utf-8", "replace")[:MESSAGE_BYTES])
    whole = case.points if passed else 0
    if check.points != whole and case.points > 0:
        share = check.points / case.points
        if not 0 <= share <= 1 + 1e-9:
            raise ValueError("the checker gives %r of %r points" % (check.points, case.points))
        with open("feedback/score_multiplier.txt", "w", encoding="ascii") as file:
            file.write("%.12f" % min(share, 1))
    return ACCEPTED if passed else REJECTED


def main():
    settings = json.loads(sys.argv[-1])
    case = Case(settings, *sys.argv[1:3])
    try:
        call = graded if settings["call"] == "grader" else checked
        check, result = call(settings, case)
        code = decide(check, case, result)
    except BaseException as error:  # also SystemExit: only this function chooses the exit code
        print("%s: %s" % (type(error).__name__, error), file=sys.stderr)
        traceback.print_exc()
        code = FAILED
    sys.stderr.flush()
    # Without the end of other threads, and without errors when the streams are closed.
    os._exit(code)


if __name__ == "__main__":
    main()
