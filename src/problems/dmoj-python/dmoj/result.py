class Result:
    """A run with its verdict, which is a set of flags. A run that is checked has none."""

    AC, WA, RTE, TLE, MLE, IR, SC, OLE, IE = 0, 1, 2, 4, 8, 16, 32, 64, 1 << 30
    _SHOWN = ("IE", "TLE", "MLE", "OLE", "RTE", "IR", "WA", "SC")

    def __init__(self, case, result_flag=0):
        self.case = case
        self.result_flag = result_flag
        self.execution_time = 0.0
        self.wall_clock_time = 0.0
        self.max_memory = 0
        self.proc_output = b""
        self.feedback = ""
        self.extended_feedback = ""
        self.points = 0

    def readable_codes(self):
        return [name for name in self._SHOWN if self.result_flag & getattr(Result, name)] or ["AC"]

    @property
    def total_points(self):
        return self.case.points


class CheckerResult:
    """The decision of a checker."""

    def __init__(self, passed, points, feedback=None, extended_feedback=None):
        if not isinstance(passed, bool):
            raise TypeError("passed is %r, not True or False" % (passed,))
        if not isinstance(points, (int, float)):
            raise TypeError("points is %r, not a number" % (points,))
        for text in (feedback, extended_feedback):
            if text is not None and not isinstance(text, str):
                raise TypeError("feedback is %r, not a text" % (text,))
        self.passed = passed
        self.points = points
        self.feedback = feedback
        self.extended_feedback = extended_feedback
