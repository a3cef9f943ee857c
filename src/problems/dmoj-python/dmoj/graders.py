"""The graders of which graders of packages are subclasses. The platform runs the submission, so a grader only decides."""

import os
import sys

from dmoj import submodule
from dmoj.result import CheckerResult
from dmoj.utils import utf8bytes, utf8text

_MOST_DIGITS = 10000


class WrongAnswer(BaseException):
    """Rejects the submission, with its text as the message."""


class StandardGrader:
    """Decides about a run that has not failed. Without a method of its own, it accepts none."""

    def __init__(self, judge, problem, language, source):
        self.judge = judge
        self.problem = problem
        self.language = language
        self.source = source

    def check_result(self, case, result):
        raise NotImplementedError("the grader has no check_result")


class InteractiveGrader(StandardGrader):
    """Talks with the submission while it runs."""

    check = False
    feedback = None

    def interact(self, case, interactor):
        raise NotImplementedError("the grader has no interact")

    def check_result(self, case, result):
        if isinstance(self.check, CheckerResult):
            return self.check
        return CheckerResult(self.check, case.points if self.check else 0.0, feedback=self.feedback)


class Interactor:
    """Both streams of the submission."""

    def __init__(self, reader, writer):
        self._reader = reader
        self._writer = writer
        self._rest = None

    def read(self):
        return self._unless_closed(self._reader.read())

    def readln(self, strip_newline=True):
        line = self._unless_closed(self._reader.readline())
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
        self._writer.write(utf8bytes(str(val)))
        self._writer.flush()

    def writeln(self, val):
        self.write("%s\n" % (val,))

    def close(self):
        self._writer.close()

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
    """Lets a grader talk with the submission on the standard streams. What the grader prints goes to standard error."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    interactor = Interactor(reader, writer)
    try:
        grader.check = grader.interact(case, interactor)
        interactor.close()
    except WrongAnswer as wrong:
        grader.feedback = str(wrong)
    except OSError as error:
        print("the submission has closed a stream: %s" % error, file=sys.stderr)


# What only DMOJ can do: it runs the submission in the process of the grader.
_REFUSED = (
    "grade",
    "populate_result",
    "abort_grading",
    "_generate_binary",
    "_interact_with_process",
    "_launch_process",
)


def refuse_overrides(grader_class):
    for one in grader_class.__mro__:
        for name in _REFUSED:
            if name in vars(one):
                raise NotImplementedError("graders with a method %s are not supported" % name)


submodule(__name__, "standard", StandardGrader=StandardGrader)
submodule(__name__, "base", BaseGrader=StandardGrader)
submodule(
    __name__, "interactive", InteractiveGrader=InteractiveGrader, Interactor=Interactor, WrongAnswer=WrongAnswer
)
