class InternalError(Exception):
    """Says that the checker cannot decide."""


class CompileError(Exception):
    pass
