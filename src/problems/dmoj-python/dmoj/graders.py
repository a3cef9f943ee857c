"""
The graders of which graders of packages are subclasses. The platform runs the submission, so a grader decides, and can talk with the
submission before that.
"""

import io
import os
import threading

from dmoj import submodule
from dmoj.result import CheckerResult
from dmoj.utils import utf8bytes, utf8text

_MOST_DIGITS = 10000


class WrongAnswer(BaseException):
    """Rejects the submission, with its text as the message."""


class StandardGrader:
    """Decides about a run by the checker of the package."""

    _current_proc = None

    def __init__(self, judge, problem, language, source):
        self.judge = judge
        self.problem = problem
        self.language = language
        self.source = source

    def check_result(self, case, result):
        checker, arguments = case.checker()
        if result.result_flag and not getattr(checker, "run_on_error", False):
            return False
        try:
            return checker(result.proc_output, case.output_data(), **arguments(result))
        except UnicodeDecodeError:
            return CheckerResult(False, 0, feedback="invalid unicode")

    def _interact_with_process(self, case, result):
        result.proc_output, error = self._current_proc.communicate()
        return error


class InteractiveGrader(StandardGrader):
    """Talks with the submission while it runs."""

    check = False
    feedback = None

    def interact(self, case, interactor):
        raise NotImplementedError("the grader has no interact")

    def check_result(self, case, result):
        if result.result_flag:
            return False
        if isinstance(self.check, CheckerResult):
            return self.check
        return CheckerResult(self.check, case.points if self.check else 0.0, feedback=self.feedback)

    def _interact_with_process(self, case, result):
        interactor = Interactor(self._current_proc)
        try:
            self.check = self.interact(case, interactor)
            interactor.close()
        except WrongAnswer as wrong:
            self.feedback = str(wrong)
        except OSError:
            pass  # The submission has closed a stream.
        return self._current_proc.stderr.read()


class Process:
    """
    The submission, which runs in a box of its own: only its standard input and its standard output are known. How it ends is known when
    both boxes have ended, so `wait` has no exit code.
    """

    def __init__(self, input_data=None):
        """Takes over both streams. Afterwards, what a grader prints goes to standard error. With an input, `stdin` is None."""
        self.stdout, self.stderr = os.fdopen(os.dup(0), "rb"), io.BytesIO()
        self.stdin = os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        if input_data is not None:
            threading.Thread(target=_send, args=(self.stdin, input_data), daemon=True).start()
            self.stdin = None

    def communicate(self, input=None, outlimit=None, errlimit=None):
        if self.stdin is not None:
            _send(self.stdin, input or b"")
        return self.stdout.read(), b""

    def wait(self):
        """Waits until the submission has closed its output. What it wrote until then can still be read."""
        if not self.stdout.closed:
            rest = self.stdout.read()
            self.stdout.close()
            self.stdout = io.BytesIO(rest)

    def finish(self):
        """Lets the submission end as if it was alone: it has no further input, and can write."""
        if self.stdin is not None and not self.stdin.closed:
            _send(self.stdin, b"")
        self.wait()


def _send(stream, data):
    try:
        with stream:
            stream.write(data)
    except OSError:
        pass  # The submission does not read all of it.


class Interactor:
    """Both streams of the submission."""

    def __init__(self, process):
        self.process = process
        self._rest = None

    def read(self):
        return self._unless_closed(self.process.stdout.read())

    def readln(self, strip_newline=True):
        line = self._unless_closed(self.process.stdout.readline())
        return line.rstrip() if strip_newline else line

    def readtoken(self, delim=None):
        if not self._rest:
            self._rest = self.readln()
        token, *rest = self._rest.split(delim, 1) if self._rest else [self._rest]
        self._rest = rest[0] if rest else None
        return token

    def readint(self, lo=float("-inf"), hi=float("inf"), delim=None):
        return self._number(int, "int", "integer", "%d", "[%.0f, %.0f]", (lo, hi), delim)

    def readfloat(self, lo=float("-inf"), hi=float("inf"), delim=None):
        return self._number(float, "float", "float", "%.2f", "[%.2f %.2f]", (lo, hi), delim)

    def write(self, val):
        self.process.stdin.write(utf8bytes(str(val)))
        self.process.stdin.flush()

    def writeln(self, val):
        self.write("%s\n" % (val,))

    def close(self):
        self.process.stdin.close()

    def _number(self, convert, kind, noun, shown, bounds, within, delim):
        token = self.readtoken(delim)
        if len(token) > _MOST_DIGITS:
            raise WrongAnswer("%s is too long" % noun)
        try:
            number = convert(token)
        except ValueError:
            text = utf8text(token, "replace")
            raise WrongAnswer('expected %s, got "%s"' % (kind, text[:5] + "..." if len(text) > 5 else text)) from None
        if not within[0] <= number <= within[1]:
            raise WrongAnswer(("expected %s in range " + bounds + ", got " + shown) % (kind, *within, number))
        return number

    @staticmethod
    def _unless_closed(data):
        if data == b"":
            raise OSError("the submission has closed its output")
        return data


def accompany(grader, case, result):
    """
    Lets a grader talk with the submission, which it returns. The submission of a grader that is not interactive gets the input of the test,
    as on DMOJ.
    """
    is_interactive = isinstance(grader, InteractiveGrader)
    grader._current_proc = Process(None if is_interactive else case.input_data())
    grader._interact_with_process(case, result)
    process, grader._current_proc = grader._current_proc, None
    return process


def decides_afterwards(grader_class):
    """Whether the grader has to know how the run has ended: the end of a run that fails decides for all others."""
    return not (issubclass(grader_class, InteractiveGrader) and not overrides(grader_class, _DECIDING))


def overrides(grader_class, names):
    """The first of these methods that the grader has of its own; None if there is none."""
    for one in grader_class.__mro__:
        if one.__module__ != __name__ and one is not object:
            for name in names:
                if name in vars(one):
                    return name
    return None


_DECIDING = ("check_result", "_interact_with_process")
# What only DMOJ can do: it runs the submission in the process of the grader.
_REFUSED = (
    "grade",
    "populate_result",
    "abort_grading",
    "_generate_binary",
    "_launch_process",
)


def refuse_overrides(grader_class, is_interactor):
    """@param is_interactor whether the platform has found out that the grader talks with the submission."""
    name = overrides(grader_class, _REFUSED if is_interactor else (*_REFUSED, "interact", "_interact_with_process"))
    if name is not None:
        raise NotImplementedError("graders with a method %s are not supported" % name)


submodule(__name__, "standard", StandardGrader=StandardGrader)
submodule(__name__, "base", BaseGrader=StandardGrader)
submodule(
    __name__, "interactive", InteractiveGrader=InteractiveGrader, Interactor=Interactor, WrongAnswer=WrongAnswer
)
