"""The checkers that DMOJ has. Each is a module with a function `check`."""

import builtins
import re
from collections import Counter

from dmoj import submodule
from dmoj.error import InternalError
from dmoj.result import CheckerResult
from dmoj.utils import utf8bytes

_LINE_END = re.compile(rb"[\r\n]")


def _all_lines(text):
    return _LINE_END.split(utf8bytes(text))


def _lines(text):
    return [line for line in _all_lines(text) if line]


def _words_by_line(text):
    """The words of each line that has any."""
    return [words for words in map(bytes.split, _all_lines(text)) if words]


def _is_standard(judge_output, process_output):
    return _words_by_line(judge_output) == _words_by_line(process_output)


def _standard(process_output, judge_output, **_):
    return _is_standard(judge_output, process_output)


def _identical(process_output, judge_output, pe_allowed=True, **_):
    if process_output == judge_output:
        return True
    is_near = pe_allowed and _is_standard(judge_output, process_output)
    return CheckerResult(False, 0, feedback="Presentation Error, check your whitespace" if is_near else None)


def _easy(process_output, judge_output, **_):
    """Compares how often each character occurs, without white space and case."""
    counted = [Counter(b"".join(utf8bytes(text).split()).lower()) for text in (process_output, judge_output)]
    return counted[0] == counted[1]


def _rstripped(process_output, judge_output, filter_new_line=False, **_):
    split = _lines if filter_new_line else _all_lines
    got, expected = ([line.rstrip() for line in split(text)] for text in (process_output, judge_output))
    return got == expected


def _sorted(process_output, judge_output, split_on="lines", **_):
    if split_on == "lines":
        parts = [builtins.sorted(map(bytes.split, _lines(text))) for text in (process_output, judge_output)]
    elif split_on == "whitespace":
        parts = [builtins.sorted(utf8bytes(text).split()) for text in (process_output, judge_output)]
    else:
        raise InternalError("split_on is %r, neither lines nor whitespace" % (split_on,))
    return parts[0] == parts[1]


def _unordered(process_output, judge_output, **_):
    return _sorted(process_output, judge_output, split_on="whitespace")


def _linecount(process_output, judge_output, point_value, feedback=True, **_):
    """Gives each line of the answer the same part of the points."""
    got, expected = ([line.strip() for line in _lines(text)] for text in (process_output, judge_output))
    if len(got) > len(expected):
        return False
    if not expected:
        return True
    right = [at < len(got) and got[at] == line for at, line in enumerate(expected)]
    marks = "Case Feedback:\n" + "".join("\u2713" if one else "\u2717" for one in right)
    share = sum(right) / len(right)
    return CheckerResult(all(right), point_value * share, extended_feedback=marks if feedback else "")


_linecount.run_on_error = True


def _linematches(
    process_output, judge_output, point_value=1, point_distribution=(1,), filler_lines_required=True, **_
):
    """Gives each line of the answer its own part of the points."""
    got, expected = _lines(process_output), _lines(judge_output)
    if len(expected) != len(point_distribution):
        raise InternalError("point_distribution has another length than the answer")
    whole = sum(point_distribution)
    if whole == 0:
        raise InternalError("the sum of point_distribution is 0")
    if filler_lines_required and len(got) != len(expected):
        return False
    earned = sum(points for one, other, points in zip(got, expected, point_distribution) if one == other)
    return CheckerResult(earned > 0, point_value * (earned / whole))


def _floats(process_output, judge_output, precision=6, error_mode="default", **_):
    is_near = _NEAR.get(error_mode)
    if is_near is None:
        raise InternalError("error_mode is %r" % (error_mode,))
    error = 10 ** -int(precision)
    got, expected = ([line.split() for line in _lines(text)] for text in (process_output, judge_output))
    return [len(line) for line in got] == [len(line) for line in expected] and all(
        _is_near_word(word, wanted, error, is_near)
        for line, wanted_line in zip(got, expected)
        for word, wanted in zip(line, wanted_line)
    )


def _is_near_word(word, wanted, error, is_near):
    try:
        number = float(wanted)
    except ValueError:
        return word == wanted
    try:
        return is_near(float(word), number, error)
    except (ValueError, ArithmeticError):
        return False


def _is_near_absolute(got, wanted, error):
    return abs(got - wanted) <= error


def _is_near_relative(got, wanted, error):
    bounds = builtins.sorted((wanted * (1 - error), wanted * (1 + error)))
    return bounds[0] <= got <= bounds[1]


def _is_near_either(got, wanted, error):
    return _is_near_absolute(got, wanted, error) or (abs(wanted) >= error and abs(1 - got / wanted) <= error)


_NEAR = {"absolute": _is_near_absolute, "relative": _is_near_relative, "default": _is_near_either}


def _floatsabs(process_output, judge_output, precision=6, **_):
    return _floats(process_output, judge_output, precision, "absolute")


def _floatsrel(process_output, judge_output, precision=6, **_):
    return _floats(process_output, judge_output, precision, "relative")


# One of the modules has the name of the built-in function `sorted`, so the functions above use that of `builtins`.
for _name, _function in {
    "easy": _easy,
    "floats": _floats,
    "floatsabs": _floatsabs,
    "floatsrel": _floatsrel,
    "identical": _identical,
    "linecount": _linecount,
    "linematches": _linematches,
    "rstripped": _rstripped,
    "sorted": _sorted,
    "standard": _standard,
    "unordered": _unordered,
}.items():
    submodule(__name__, _name, check=_function)
submodule(__name__, "_checker", standard=_is_standard)
