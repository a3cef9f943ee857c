"""What checkers and graders for DMOJ import from its package. Modules below these are registered by `submodule`."""

import sys
import types


def submodule(parent, name, **members):
    """Makes a module below another one."""
    module = types.ModuleType("%s.%s" % (parent, name))
    module.__dict__.update(members)
    sys.modules[module.__name__] = module
    setattr(sys.modules[parent], name, module)
    return module
