"""Mutants of a program's source: every small change that a typing error could make."""

import ast
import inspect
import signal
from contextlib import contextmanager

from zerolit.comm import Swap, collective

SWAPPED = {
    ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mod: [ast.FloorDiv], ast.FloorDiv: [ast.Mult],
    ast.Mult: [ast.FloorDiv], ast.BitXor: [ast.BitOr, ast.BitAnd], ast.BitAnd: [ast.BitOr],
    ast.Lt: [ast.LtE, ast.Gt], ast.NotEq: [ast.Eq], ast.Gt: [ast.GtE, ast.Lt],
}  # fmt: skip


def changes(node, names):
    """What one node may become."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield from (ast.Constant(node.value + by) for by in (1, -1, 2))
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        yield from (ast.Name(name, ast.Load()) for name in names if name != node.id)
    if isinstance(node, ast.BinOp):
        yield node.left
        for other in SWAPPED.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
    if isinstance(node, ast.Compare):
        for other in SWAPPED.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        yield ast.Assign([node.target], node.value, lineno=0)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        yield ast.AugAssign(node.targets[0], ast.Add(), node.value)
        yield ast.Expr(node.value)
    if isinstance(node, ast.AugAssign | ast.If):
        yield ast.Pass()
    if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Yield):
        yield ast.Expr(node.value)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Swap":
        for i in range(len(node.args) - 1):  # two arguments exchanged
            args = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]]
            yield ast.Call(node.func, args, node.keywords)
        for i in range(len(node.keywords)):  # one left out
            yield ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1 :])


def mutants(*functions):
    """Every source that differs from the functions' in one node."""
    tree = ast.parse("\n".join(map(inspect.getsource, functions)))
    for function in tree.body:
        function.decorator_list = [d for d in function.decorator_list if isinstance(d, ast.Call)]
        function.returns = None
        for argument in function.args.args:
            argument.annotation = None
    return mutants_of(ast.unparse(tree), {"rank", "size"})


def mutants_of(text, names=frozenset()):
    """Every text that differs in one node of a function; `names` may stand for others, too."""
    tree = ast.parse(text)
    functions = [part for part in tree.body if isinstance(part, ast.FunctionDef)]
    bodies = [n for function in functions for s in function.body for n in ast.walk(s)]
    stored = (n.id for n in bodies if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    names = sorted({*stored, *names})
    for parent in [*bodies, *functions]:
        for field, index, node in _children(parent):
            for change in changes(node, names):
                _put(parent, field, index, ast.fix_missing_locations(change))
                yield ast.unparse(tree)
                _put(parent, field, index, node)


def _children(parent):
    for field, value in ast.iter_fields(parent):
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST) and field not in ("args", "decorator_list", "ctx"):
                yield field, index, node
            if field == "args" and isinstance(parent, ast.Call):
                yield field, index, node


def _put(parent, field, index, node):
    value = getattr(parent, field)
    if isinstance(value, list):
        value[index] = node
    else:
        setattr(parent, field, node)


def load(source, name):
    """The program of a source."""
    names = {"Swap": Swap, "collective": collective, "owned": lambda r, p: (r + 1) % p}
    exec(compile(source, "<mutant>", "exec"), names)
    return names[name]


class Slow(BaseException):
    """A program that computes for ever."""


@contextmanager
def at_most(seconds):
    def stop(*_):
        raise Slow

    before = signal.signal(signal.SIGVTALRM, stop)
    # Again and again: what is raised in a callback of the garbage collector goes no further.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
