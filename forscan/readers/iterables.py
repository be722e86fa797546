"""The iteration space of a `for`: what `range`, `zip`, `enumerate` and arrays become."""

from __future__ import annotations

import ast
from dataclasses import replace

from forscan.analyse.arrays import Evidence, evidence, stacked
from forscan.analyse.traced_bounds import check_bounds
from forscan.analyse.trip_count import (
    Extent,
    add,
    extent,
    leading,
    literal_int,
)
from forscan.find.context import FunctionContext
from forscan.model import Counter, Element, Refused, Spelling
from forscan.readers.bounds import is_integer
from forscan.readers.space import Space, single, unlike
from forscan.readers.written_out import constant, written_out
from forscan.syntax.code import one_line
from forscan.syntax.fresh import Fresh
from forscan.syntax.names import reads, target_names
from forscan.syntax.parsing import parse_expression
from forscan.syntax.slices import uncut
from forscan.syntax.walk import walk


def read_space(node: ast.For, context: FunctionContext, spelling: Spelling) -> Space:
    """The iteration space of a loop.

    Raises:
      Refused: the iterable has no counterpart in a scan.
    """
    reader = _Reader(node, context, spelling)
    return reader.read(node.target, node.iter)


class _Reader:
    def __init__(self, loop: ast.For, context: FunctionContext, spelling: Spelling) -> None:
        self.loop = loop
        self.context = context
        self.fresh: Fresh = context.fresh
        self.spelling = spelling

    def text(self, node: ast.expr) -> str:
        return one_line(self.context.source, node)

    def read(self, target: ast.expr, iterable: ast.expr) -> Space:
        self.check_target(target)
        if isinstance(iterable, ast.Call):
            path = self.context.resolve(iterable.func)
            plain = not iterable.keywords and not any(
                isinstance(a, ast.Starred) for a in iterable.args
            )
            arguments = iterable.args
            if path == "range" and plain and 1 <= len(arguments) <= 3:
                return self.range(target, arguments)
            if path == "reversed" and plain and len(arguments) == 1:
                inner = self.read(target, arguments[0])
                return replace(inner, reverse=not inner.reverse)
            if path == "enumerate" and self.enumerates(iterable):
                return self.enumerate(target, iterable)
            if path == "zip" and self.zips(iterable):
                return self.zip(target, arguments, strict=_is_strict(iterable))
            columns = self.columns_of(iterable) if path == "zip" else None
            if columns is not None:
                return self.columns(target, columns)
            if path == "jax.numpy.arange" and self.only_counts(target, iterable):
                return self.range(target, arguments)
        if isinstance(iterable, ast.Tuple | ast.List):
            if evidence(iterable, self.context) is not Evidence.ITEMS:
                return written_out(target, iterable, self.text(iterable), self.spelling.jnp)
        return self.array(target, iterable)

    def check_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Starred):
            raise unlike(
                "FSC205",
                target,
                f"{self.text(target)} takes a list of items, and a scan has one slice for each",
                "Give each item a name of its own.",
            )
        for node in walk(target):
            if isinstance(node, ast.Attribute | ast.Subscript):
                raise unlike(
                    "FSC303",
                    target,
                    f"the target {self.text(target)} is stored in an object on each iteration",
                    "Use a plain name as the target and store it after the loop.",
                )

    # range

    def range(self, target: ast.expr, arguments: list[ast.expr]) -> Space:
        texts = [self.text(a) for a in arguments]
        start, stop, step = "0", texts[0], "1"
        if len(texts) > 1:
            start, stop = texts[0], texts[1]
        if len(texts) > 2:
            step = texts[2]
        traced = check_bounds(arguments, self.loop, self.context, "`range`")
        if traced is not None:
            raise Refused(traced)
        reverse = step == "-1"
        if reverse:
            start, stop, step = add(stop, 1), add(start, 1), "1"
        counter = Counter(single(target), stop, start, step)
        return Space(counter, reverse=reverse, trips=(self.trips(counter),))

    def only_counts(self, target: ast.expr, call: ast.Call) -> bool:
        """Whether an arange of integers is there for its length only."""
        unused = isinstance(target, ast.Name) and not self.is_used(target.id)
        plain = not call.keywords and 1 <= len(call.args) <= 3
        return unused and plain and all(is_integer(a, self.context) for a in call.args)

    def trips(self, counter: Counter) -> Extent:
        stop = extent(parse_expression(counter.stop), self.context)
        start = literal_int(parse_expression(counter.start))
        if counter.step == "1" and start is not None:
            return stop + -start
        return Extent(f"len(range({counter.range}))", 0)

    # enumerate and zip

    def enumerates(self, call: ast.Call) -> bool:
        keywords = [k.arg for k in call.keywords]
        return 1 <= len(call.args) + len(keywords) <= 2 and keywords in ([], ["start"])

    def enumerate(self, target: ast.expr, call: ast.Call) -> Space:
        if len(call.args) > 1:
            start = self.text(call.args[1])
        else:
            start = self.text(call.keywords[0].value) if call.keywords else "0"
        head: tuple[str, ...] = ()
        if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2:
            first, second = target.elts
        else:
            pair = single(target)
            index, item = self.fresh.name("i"), self.fresh.name("item")
            head = (f"{pair} = ({index}, {item})",)
            first, second = (
                ast.copy_location(ast.Name(n, ast.Store()), target) for n in (index, item)
            )
        name = single(first)
        inner = self.read(second, call.args[0])
        if inner.counter:
            raise unlike(
                "FSC201",
                call,
                "enumerate over a range counts twice",
                "Use the range alone.",
            )
        if not head and not self.is_used(name):
            return inner
        inner = _forwards(inner)
        if inner.reverse:
            raise unlike(
                "FSC201",
                call,
                "enumerate counts upwards over items that come in reverse",
                "Iterate a reversed array, `x[::-1]`.",
            )
        length = self.length(inner)
        stop = add(length, literal_int(parse_expression(start)) or 0)
        if literal_int(parse_expression(start)) is None:
            stop = f"{start} + {length}"
        counter = Counter(name, stop, start)
        return replace(inner, counter=counter, head=head + inner.head)

    def is_used(self, name: str) -> bool:
        """Whether anything in the function reads the name, as `name += 1` does too."""
        reads = (
            n.target if isinstance(n, ast.AugAssign) else n
            for n in self.context.nodes
            if isinstance(n, ast.AugAssign)
            or (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        )
        return any(isinstance(n, ast.Name) and n.id == name for n in reads)

    def length(self, space: Space) -> str:
        first = space.elements[0]
        return space.length or first.length or f"len({first.source})"

    def zips(self, call: ast.Call) -> bool:
        return (
            all(k.arg == "strict" for k in call.keywords)
            and not any(isinstance(a, ast.Starred) for a in call.args)
            and bool(call.args)
        )

    def zip(self, target: ast.expr, parts: list[ast.expr], strict: bool) -> Space:
        head: tuple[str, ...] = ()
        if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(parts):
            targets = target.elts
        else:
            name = single(target)
            items = [self.fresh.name(f"{name}_{k}") for k in range(len(parts))]
            head = (f"{name} = ({', '.join(items)}{',' * (len(items) == 1)})",)
            targets = [ast.copy_location(ast.Name(n, ast.Store()), target) for n in items]
        spaces = [self.read(t, p) for t, p in zip(targets, parts, strict=True)]
        if len({s.reverse for s in spaces}) > 1:
            spaces = [_forwards(s) for s in spaces]
        counters = [s.counter for s in spaces if s.counter]
        if len(counters) > 1 or len({s.reverse for s in spaces}) > 1:
            raise unlike(
                "FSC201",
                self.loop.iter,
                "the parts of the zip count in different ways",
                "Zip arrays that run in one direction, and at most one range.",
            )
        space = Space(
            counters[0] if counters else None,
            tuple(e for s in spaces for e in s.elements),
            spaces[0].reverse,
            head + tuple(h for s in spaces for h in s.head),
            tuple(b for s in spaces for b in s.before),
            tuple(t for s in spaces for t in s.trips),
        )
        if strict or self.same_lengths(parts):  # a scan checks the lengths as well
            space = replace(space, trips=space.trips[:1])
        elif len(set(space.trips)) > 1:
            space = self.trim(space)
        return self.whole(space, target)

    def columns_of(self, call: ast.Call) -> ast.expr | None:
        """What `zip(*x)` takes the rows of, where calls have shown arrays of one length."""
        match call:
            case ast.Call(args=[ast.Starred(value=node)], keywords=[]):
                value = self.context.seen(node)
                if value is not None and value.columns:
                    return node
                raise unlike(
                    "FSC202",
                    call,
                    f"nothing shows that {self.text(node)} is a tuple of arrays of one length",
                    "Name its items, `zip(a, b)`, or give --call with a call that shows what they are.",
                )
        return None

    def columns(self, target: ast.expr, node: ast.expr) -> Space:
        """A tuple of arrays is what a scan runs over, as it is."""
        shown, value = self.text(node), self.context.seen(node)
        source = shown if value is not None and value.kind == "tuple" else f"tuple({shown})"
        return self.counted(target, source, f"len({shown}[0])")

    def whole(self, space: Space, target: ast.expr) -> Space:
        """A zip whose items have one name is a scan over a tuple, whose slices are tuples."""
        plain = len(space.head) == 1 and space.counter is None and len(space.elements) > 1
        if not isinstance(target, ast.Name) or not plain:
            return space
        texts = tuple(e.source for e in space.elements)
        source = f"({', '.join(texts)})"
        length = space.length or space.elements[0].length
        element = Element(target.id, source, is_array=False, length=length, parts=texts)
        return replace(space, elements=(element,), head=())

    def same_lengths(self, parts: list[ast.expr]) -> bool:
        """Whether all parts of a zip had one length in the calls that were run."""
        seen = [self.context.seen(p) for p in parts]
        lengths = {v.length if v is not None else None for v in seen}
        return len(lengths) == 1 and None not in lengths

    def trim(self, space: Space) -> Space:
        """Parts of a zip that may differ in length are cut to the shortest.

        `zip` stops at the shortest, a scan raises: the cut costs nothing where the
        lengths are equal.
        """
        space = _forwards(space)
        counter = space.counter
        if space.reverse or (counter is not None and (counter.start, counter.step) != ("0", "1")):
            raise unlike(
                "FSC201",
                self.loop.iter,
                "the parts of the zip may differ in length: zip stops at the shortest, a scan raises",
                "Cut the arrays to one length before the loop.",
            )
        before = list(space.before)
        elements = []
        for e in space.elements:
            source = e.source
            if not source.isidentifier():
                source = self.fresh.name(f"{e.target}s", "items")
                before.append(f"{source} = {e.source}")
            elements.append(replace(e, source=source))
        n = self.fresh.name("n", "length")
        lengths = [f"len({e.source})" for e in elements]
        if counter is not None:
            lengths.insert(0, f"len(range({counter.stop}))")
            counter = replace(counter, stop=n)
        before.append(f"{n} = min({', '.join(lengths)})")
        cut = tuple(replace(e, source=f"{e.source}[:{n}]", length=n) for e in elements)
        trips = (Extent(n, 0),)
        return replace(
            space, counter=counter, elements=cut, before=tuple(before), trips=trips, length=n
        )

    # items

    def array(self, target: ast.expr, node: ast.expr) -> Space:
        found = evidence(node, self.context)
        if found is Evidence.ITEMS:
            return self.items(target, node)
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "::-1":
            inner = self.read(target, node.value)
            return replace(inner, reverse=not inner.reverse)
        shown = self.text(node)
        if found is Evidence.TABLE:
            if self.context.seen(node) is not None and isinstance(target, ast.Name):
                return self.items(target, node)
            table = constant(target, node, self.context, self.spelling.jnp)
            if table is not None:
                return table
            raise unlike(
                "FSC205",
                node,
                f"{shown} is a Python sequence of numbers, not an array",
                f"Make it an array before the loop (`jnp.asarray({shown})` is strongly typed).",
            )
        if found is Evidence.OTHER and not _is_kept(node):
            raise unlike(
                "FSC201",
                node,
                f"{shown} is no array: a scan takes slices of arrays along their leading axis",
                "Iterate an array, or stack equal items into one before the loop.",
            )
        as_arrays = self.items_are_arrays(target) if found is Evidence.UNKNOWN else True
        unpacked = found is Evidence.UNKNOWN and not isinstance(target, ast.Name)
        if as_arrays is False or found is Evidence.OTHER or (unpacked and self.leaves_out(target)):
            raise unlike(
                "FSC202",
                node,
                f"nothing shows that {shown} is one array; if it is a list or another "
                "pytree, a scan would slice every array in it",
                f"Annotate {shown} as jax.Array if it is one array; if it is a list of equal "
                "layers, give --call with a call: they are stacked then, and scanned.",
            )
        trips = (leading(node, self.context),)
        length = self.length_of(node)
        if as_arrays is None or unpacked:  # a list of equal arrays comes out right as well
            shown = f"{self.spelling.jnp}.asarray({shown})"
        if isinstance(target, ast.Name):
            return Space(elements=(Element(target.id, shown, length=length),), trips=trips)
        return self.rows(target, shown, trips)

    def length_of(self, node: ast.expr) -> str:
        """Python for the number of items, which looks at the arrays that are there already."""
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            if self.context.resolve(node.func) in ("jax.numpy.asarray", "jax.numpy.array"):
                return f"len({self.text(node.args[0])})"
        whole, left_out = uncut(node)
        return add(f"len({self.text(whole)})", -left_out)

    def items(self, target: ast.expr, node: ast.expr) -> Space:
        """A list of equal items is stacked, leaf by leaf."""
        shown, item = self.text(node), self.context.seen_item(node)
        is_array = item is not None and item.is_leaf
        source = stacked(shown, item, self.spelling)
        return self.counted(target, source, f"len({shown})", is_array=is_array)

    def counted(
        self, target: ast.expr, source: str, length: str, *, is_array: bool = False
    ) -> Space:
        """The slices of one array or tree; a pattern unpacks each of them in the body."""
        name = target.id if isinstance(target, ast.Name) else self.fresh.name("row", "item")
        element = Element(name, source, is_array=is_array, length=length)
        head = () if isinstance(target, ast.Name) else (f"{self.text(target)} = {name}",)
        return Space(elements=(element,), head=head, trips=(Extent(length, 0),), length=length)

    def rows(self, target: ast.expr, shown: str, trips: tuple[Extent, ...]) -> Space:
        """A pattern unpacks each slice in the body, as it did in the header."""
        assert isinstance(target, ast.Tuple | ast.List)
        row = self.fresh.name("row", "item")
        unpack = f"{self.text(target)} = {row}"
        return Space(elements=(Element(row, shown),), head=(unpack,), trips=trips)

    def leaves_out(self, target: ast.expr) -> bool:
        """Whether a part of an unpacked item is not used: it may be anything, a text or None."""
        return not set(target_names(target)) <= set(reads(self.loop.body))

    def items_are_arrays(self, target: ast.expr) -> bool | None:
        """Whether the body uses the items only as arrays: a list there would raise."""
        from forscan.analyse.items import used_as_arrays

        return used_as_arrays(target, self.loop, self.context)


def _is_kept(node: ast.expr) -> bool:
    """Whether items are those of an attribute, such as layers, that could be stacked there."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute)


def _is_strict(call: ast.Call) -> bool:
    return any(
        k.arg == "strict" and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in call.keywords
    )


def _forwards(space: Space) -> Space:
    """Reversed arrays as arrays, where other parts of a zip run forwards."""
    if not space.reverse or space.counter is not None:
        return space
    elements = tuple(replace(e, source=f"{e.source}[::-1]") for e in space.elements)
    return replace(space, elements=elements, reverse=False)
