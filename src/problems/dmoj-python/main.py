"""
Runs a checker or a grader that is written in Python for DMOJ, in the box of a checker with the interface `kattis-partial`
(src/worker/checker-interfaces.ts). The last argument is JSON: what to call (`PythonCall` in src/problems/dmoj-programs.ts). The modules in
`dmoj` offer what such programs import.

A grader that talks with the submission runs twice: beside the submission, and then to decide, when it is known how the submission has
ended. Between them, its attributes and those of the result are in a file.
"""

import json
import os
import pickle
import sys
import traceback
import types

from dmoj import checkers, graders
from dmoj.result import CheckerResult, Result

ACCEPTED, REJECTED, UNDECIDED, FAILED = 42, 43, 44, 1
MESSAGE_BYTES = 2000
STATE_FILE = "feedback/state"

# DMOJ's flags of the verdicts of failed runs.
FLAGS = {
    "RE": Result.IR,
    "SIG": Result.RTE,
    "TLE": Result.TLE,
    "MLE": Result.MLE,
    "PLE": Result.IR,
    "FSE": Result.RTE,
}

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
        self._settings = settings
        self._paths = input_path, answer_path

    def input_data(self):
        return contents(self._paths[0])

    def output_data(self):
        return contents(self._paths[1])

    def checker(self):
        """The function of the checker, and a function that makes its arguments for a result."""
        settings = self._settings["checker"]
        check = load(settings["file"]).check if "file" in settings else getattr(checkers, settings["name"]).check
        return check, lambda result: {**settings["args"], **self._known(result)}

    def _known(self, result):
        return {
            "submission_source": contents("judge/source"),
            "judge_input": self.input_data(),
            "point_value": self.points,
            "case_position": self.position,
            "batch": self.batch,
            "submission_language": language_of(run_facts()),
            "binary_data": self.has_binary_data,
            "execution_time": result.execution_time,
            "problem_id": self._settings["problem"],
            "case": self,
            "result": result,
        }


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def load(path):
    """The module in a file of the package. It is not found by an import, because its name can be that of another module."""
    module = types.ModuleType("package_" + os.path.basename(path).rpartition(".")[0])
    module.__file__ = path
    sys.modules[module.__name__] = module  # objects of its classes can be stored
    exec(compile(contents(path), path, "exec"), module.__dict__)
    return module


def run_facts():
    """What is known of the run of the submission: only the language, while it still runs."""
    with open("judge/run.json", encoding="utf-8") as file:
        return json.load(file)


def language_of(facts):
    return LANGUAGES.get(facts["language"], facts["language"].upper())


def describe(result, facts):
    """Adds what was measured of the run, and the flag of a failure."""
    result.execution_time = facts.get("cpu_time_secs", 0.0)
    result.wall_clock_time = facts.get("wall_time_secs", 0.0)
    result.max_memory = facts.get("memory_peak_bytes", 0) / 1024
    result.result_flag |= FLAGS.get(facts["verdict"], 0)


def checked(settings, case):
    """Calls a checker. Returns what it returned, and the result that it may have changed."""
    result = Result(case)
    describe(result, run_facts())
    result.proc_output = sys.stdin.buffer.read()
    # The method of the grader is what DMOJ calls for a package without a grader.
    grader = graders.StandardGrader(None, None, None, None)
    return grader.check_result(case, result), result


def graded(settings, case):
    """Calls a grader. Returns what it returned, or None if it decides later; and the result that it may have changed."""
    facts = run_facts()
    result = Result(case)
    grader_class = load(settings["file"]).Grader
    graders.refuse_overrides(grader_class, settings["interactor"])
    problem = types.SimpleNamespace(id=settings["problem"])
    grader = grader_class(None, problem, language_of(facts), contents("judge/source"))
    if "verdict" not in facts:
        process = graders.accompany(grader, case, result)
        if graders.decides_afterwards(grader_class):
            process.finish()
            store(grader, result)
            return None, result
    else:
        if settings["interactor"]:
            restore(grader, result)
        else:
            result.proc_output = sys.stdin.buffer.read()
        describe(result, facts)
    return grader.check_result(case, result), result


def store(grader, result):
    attributes = {name: value for name, value in vars(result).items() if name != "case"}
    with open(STATE_FILE, "wb") as file:
        pickle.dump((vars(grader), attributes), file)


def restore(grader, result):
    with open(STATE_FILE, "rb") as file:
        for one, attributes in zip((grader, result), pickle.load(file)):
            vars(one).update(attributes)


def decide(check, case, result):
    """The exit code, with the share of the points in a file if it does not follow from the exit code."""
    if not isinstance(check, CheckerResult):
        check = CheckerResult(check, case.points if check else 0.0)
    failure = result.result_flag & ~Result.WA
    if failure & ~FLAGS.get(run_facts().get("verdict"), 0):
        raise ValueError("a verdict other than AC, WA and that of the run cannot be set: %s" % result.readable_codes())
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
    if failure:
        return UNDECIDED
    return ACCEPTED if passed else REJECTED


def main():
    settings = json.loads(sys.argv[-1])
    case = Case(settings, *sys.argv[1:3])
    try:
        call = graded if settings["call"] == "grader" else checked
        check, result = call(settings, case)
        code = UNDECIDED if check is None and "verdict" not in run_facts() else decide(check, case, result)
    except BaseException as error:  # also SystemExit: only this function chooses the exit code
        print("%s: %s" % (type(error).__name__, error), file=sys.stderr)
        traceback.print_exc()
        code = FAILED
    sys.stderr.flush()
    # Without the end of other threads, and without errors when the streams are closed.
    os._exit(code)


if __name__ == "__main__":
    main()
