"""The registry of codes: what is reported, under which name, and why.

A name says what was found, never the remedy. 1xx convertible, 2xx iteration space,
3xx control flow and effects, 4xx state and index, 5xx target form, 6xx verification,
9xx input.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One code.

    Attributes:
      code: `FSCnnn`.
      name: the pattern found.
      summary: one line.
      explanation: what it means and why it matters.
      example: a few lines of code that give it.
      help: how to revise.
    """

    code: str
    name: str
    summary: str
    explanation: str
    example: str
    help: str


def _entries(*entries: Entry) -> dict[str, Entry]:
    return {entry.code: entry for entry in entries}


REGISTRY: dict[str, Entry] = _entries(
    Entry(
        "FSC101",
        "unrolled-loop",
        "a `for` that can become `lax.scan` or `fori_loop`",
        "JAX unrolls a Python `for` in a traced function: one copy of the body per "
        "iteration, so tracing and compiling grow with the trip count. The loop's state "
        "is made of arrays, so that the body can be compiled once.",
        "for x in xs:\n    s = 0.5 * s + x",
        "Run `forscan convert --to scan`, or leave it: short loops can run faster unrolled.",
    ),
    Entry(
        "FSC102",
        "rolled-loop",
        "a `lax.scan` or `fori_loop` that can become a `for`",
        "The loop has a static trip count and a body that can be called or inlined, so it "
        "can be written as a Python `for`, which the compiler may optimise across "
        "iterations and a debugger can step through.",
        "s, _ = lax.scan(step, 0.0, xs)",
        "Run `forscan convert --to for`.",
    ),
    Entry(
        "FSC103",
        "not-traced",
        "a loop in code that is not seen to run under a trace",
        "Outside of a traced function a `for` runs in Python and nothing is unrolled. "
        "Many functions are traced from elsewhere (`env.step` under `jax.jit` in another "
        "module), which nothing in this module shows.",
        "def train(state):\n    for _ in range(3):\n        state = step(state)",
        "Put `# forscan: traced` above the function, name it under `traced` in "
        "[tool.forscan], or use --all, if it runs under jit.",
    ),
    Entry(
        "FSC104",
        "python-work",
        "a loop that computes nothing with arrays",
        "The loop fills dicts, makes modules or names, or checks arguments. There is no "
        "state that `lax.scan` could carry.",
        "for name in names:\n    table[name] = len(name)",
        "Nothing to do.",
    ),
    Entry(
        "FSC105",
        "other-style",
        "a `lax` loop that can be written as another, or in another style",
        "The loop was a `lax` loop before: it gets the other form, an unroll hint, a def or a "
        "lambda as its body, or its parameters by closure or through the carry.",
        "s, _ = lax.scan(lambda c, x: (c + x, None), 0.0, xs)",
        "Run `forscan convert` with --unroll, --body or --params.",
    ),
    Entry(
        "FSC106",
        "short-loop",
        "a loop that unrolls to so little that a scan would hardly pay",
        "Each iteration of a scan costs a loop step, and an unrolled loop can be optimised "
        "across its iterations: a short one is best left alone. What counts as short is set "
        "by min-trips (iterations) and min-ops (operations in all) in [tool.forscan]; only "
        "`check` and editors ask about it.",
        "for w in (w1, w2):\n    x = jnp.tanh(x @ w)",
        "Nothing to do; `forscan convert` converts it all the same.",
    ),
    Entry(
        "FSC201",
        "unsupported-iterable",
        "an iterable that has no counterpart in a scan",
        "A scan takes slices of arrays along their leading axis, or counts. Dicts, "
        "generators, files and rebound builtins are read by Python only.",
        "for name, w in params.items():\n    x = x @ w",
        "Stack the values into one array and iterate that.",
    ),
    Entry(
        "FSC202",
        "unproven-array",
        "an iterable that may be a list or another pytree",
        "`lax.scan(f, init, [a, b])` reads a list as a pytree of xs and slices each "
        "array, without any error. Nothing in the source shows that this is one array.",
        "for layer in layers:\n    x = block(layer, x)",
        "Annotate the parameter as jax.Array if it is one array. If it is a list of equal "
        "layers, give `forscan convert --call` a call of the function: it sees that they are "
        "equal, stacks them with `jax.tree.map` and `jnp.stack`, scans the stack, and verifies that.",
    ),
    Entry(
        "FSC203",
        "traced-trip-count",
        "a trip count that is a traced argument",
        "Inside jit the argument is a tracer, and neither `range` nor a scan's length "
        "takes a tracer: as it stands the function cannot run.",
        "@jax.jit\ndef f(x, n):\n    for _ in range(n):\n        x = jnp.sin(x)",
        'Mark the argument as static: `static_argnames="n"`.',
    ),
    Entry(
        "FSC204",
        "too-many-trips",
        "too many iterations to write them out",
        "A Python `for` makes one copy of the body per iteration; compiling thousands of "
        "copies takes minutes to hours.",
        "lax.scan(step, x, None, length=50_000)",
        "Keep the scan, or set `unroll=` to let the compiler see several iterations.",
    ),
    Entry(
        "FSC205",
        "items-not-arrays",
        "items that cannot become slices of an array",
        "Functions, strings, modules and numbers of different kinds have no common " "array type.",
        "for act in (jnp.sin, jnp.tanh):\n    x = act(x)",
        "Keep the Python loop.",
    ),
    Entry(
        "FSC206",
        "maybe-empty",
        "no iterations may happen, and the stack of nothing is an error",
        "A scan over nothing gives an empty array; a list that stays empty cannot be "
        "stacked, since nothing gives its shape.",
        "_, ys = lax.scan(step, c, xs[:n])",
        "Make sure that there is at least one iteration, or keep the scan.",
    ),
    Entry(
        "FSC207",
        "condition-decides",
        "a while_loop whose condition is not a counter's",
        "A `for` in a traced function runs a number of times that is known when it is traced. "
        "That is so for a while_loop only where its condition compares a counter that begins "
        "with a literal, and that every iteration raises by one, with a static bound.",
        "lax.while_loop(lambda s: s[1] > 1e-3, step, (x, 1.0))",
        "Bound the iterations and mask those that are too many, or keep the while_loop.",
    ),
    Entry(
        "FSC208",
        "combined-in-a-tree",
        "an associative_scan, which has no order",
        "`associative_scan` calls its function on whole slices, a number of times that grows with the logarithm of the "
        "length, and relies on its being associative. A loop would call it on single "
        "elements, which the function need not take, in an order that rounds otherwise.",
        "sums = lax.associative_scan(jnp.add, xs)",
        "Write it as `lax.scan` over the elements first, or keep it.",
    ),
    Entry(
        "FSC301",
        "early-exit",
        "`break`, `return` or `yield` leaves the loop early",
        "A scan always runs its whole length.",
        "for x in xs:\n    if done:\n        break",
        "Compute the number of iterations before the loop, or mask the later ones with "
        "jnp.where.",
    ),
    Entry(
        "FSC302",
        "host-effect",
        "an effect on the host in each iteration",
        "The body of a scan is traced once: what happens on the host (print, logging, "
        "files, context managers) would happen once, with tracers.",
        "for i in range(n):\n    print(i)\n    x = jnp.sin(x)",
        "Use jax.debug.print or jax.debug.callback, or move it out of the loop.",
    ),
    Entry(
        "FSC303",
        "outside-mutation",
        "the body changes an object that outlives it",
        "Attributes, dicts, lists and globals that the body changes would be changed "
        "once, at trace time, and would hold a tracer that has leaked.",
        "for x in xs:\n    self.total = self.total + x",
        "Keep the value in a local name inside the loop and store it afterwards.",
    ),
    Entry(
        "FSC304",
        "unsupported-statement",
        "a statement that no body of a scan can hold",
        "forscan converts what it knows to be right and refuses the rest.",
        "for x in xs:\n    try:\n        s = f(s, x)\n    except KeyError:\n        pass",
        "Move the statement out of the loop or into a function that the loop calls.",
    ),
    Entry(
        "FSC305",
        "call-inside-expression",
        "the loop stands where no statement can go",
        "A Python `for` is a statement; inside a lambda, a comprehension or a conditional "
        "expression there is no place for it.",
        "jax.vmap(lambda c: lax.scan(step, c, xs)[0])(cs)",
        "Make the lambda a def and the call a statement of its own.",
    ),
    Entry(
        "FSC306",
        "unsupported-call",
        "a call form that cannot be read",
        "Star arguments, an indirect use of `lax.scan` or a function that only has its "
        "name leave open what is looped over.",
        "scan = my_library.scan\nscan(step, init, xs)",
        "Call jax.lax.scan or jax.lax.fori_loop directly, with its arguments in place.",
    ),
    Entry(
        "FSC307",
        "body-not-visible",
        "the body of the loop cannot be called from here",
        "The function that the loop runs is not an expression that a statement can call.",
        "lax.scan(*step_and_init, xs)",
        "Give the body function a name.",
    ),
    Entry(
        "FSC308",
        "run-once-source",
        "a value that differs per iteration comes from the host",
        "Random numbers of NumPy, clocks, iterators and key streams are read while "
        "tracing: inside a scan every iteration would see the first value, silently.",
        "for _ in range(n):\n    x = x + np.random.normal()",
        "Draw the values before the loop and iterate them, or carry a jax.random key.",
    ),
    Entry(
        "FSC309",
        "late-binding",
        "a function made outside the loop reads the loop's names",
        "Inside a scan the loop's names are parameters of the body function; a function "
        "made outside keeps reading the values from before the loop, silently.",
        "def gate():\n    return jnp.tanh(h)\nfor x in xs:\n    h = gate() * x",
        "Hand the value to the function as an argument.",
    ),
    Entry(
        "FSC310",
        "comment-in-the-way",
        "a comment stands where nothing would be left of it",
        "What a conversion takes out (the brackets around a value, a statement that the "
        "other form does not need) may hold a comment, and none is thrown away.",
        "for x in xs:\n    ys.append((  # in metres\n        x\n    ))",
        "Put the comment on a line of its own, above a statement of the loop.",
    ),
    Entry(
        "FSC401",
        "target-used-concretely",
        "a loop value is needed as a Python value",
        "Inside a scan the index, the items and the state are tracers, and a tracer "
        "cannot be a shape, a bound of a slice, an axis, a key of a dict, text or an "
        "argument of NumPy.",
        "for i in range(n):\n    x = x + jnp.zeros(i).sum()",
        "Revise the body so that only arrays depend on the value, or keep the loop.",
    ),
    Entry(
        "FSC402",
        "branch-on-index",
        "a Python branch depends on a loop value",
        "`if` asks a tracer for its truth value, which is an error inside a scan.",
        "for i in range(n):\n    if i == 0:\n        x = 2 * x",
        "Use jnp.where or lax.cond, or take the special iteration out of the loop.",
    ),
    Entry(
        "FSC403",
        "index-overflow",
        "arithmetic of the index that a scan cannot follow",
        "A Python int has no bounds and a Python float double precision; the index inside a scan "
        "is an int32: `2 ** i` and large products wrap around or become 0, without an error, and "
        "`i * 0.1 > 0.3` may end otherwise.",
        "for i in range(40):\n    x = x + 2 ** i",
        "Compute the numbers before the loop in Python and iterate an array of them.",
    ),
    Entry(
        "FSC404",
        "none-before-loop",
        "the state is None before the first iteration",
        "None is a pytree without leaves: the carry would change its structure.",
        "h = None\nfor x in xs:\n    h = x if h is None else h + x",
        "Take the first iteration out of the loop.",
    ),
    Entry(
        "FSC405",
        "shape-changes",
        "the state changes its shape in each iteration",
        "A scan's carry has one shape and dtype. Here the state grows.",
        "for x in xs:\n    v = jnp.concatenate([v, x[None]])",
        "Append to a list and stack it after the loop, or write into a buffer of full size.",
    ),
    Entry(
        "FSC406",
        "dtype-changes",
        "the state changes its dtype",
        "A scan's carry keeps the dtype of its start; only weakly typed starts are promoted.",
        "n = jnp.zeros((), jnp.int32)\nfor x in xs:\n    n = n + 0.5 * x",
        "Give the start the dtype that the state has after one iteration.",
    ),
    Entry(
        "FSC407",
        "list-read-in-loop",
        "a list that the loop fills is also read or changed in it",
        "The outputs of a scan exist only after the last iteration.",
        "for x in xs:\n    hs.append(f(hs[-1], x))",
        "Keep what the next iteration needs in a name of its own.",
    ),
    Entry(
        "FSC408",
        "maybe-unbound",
        "a name may be read before it is bound",
        "The name has no value before the loop, and not every path through an iteration "
        "binds it: a scan needs a start of the right type.",
        "for i in range(n):\n    if flag:\n        y = f(x)\nreturn y",
        "Give the name a start value of its final shape and dtype before the loop.",
    ),
    Entry(
        "FSC409",
        "index-passed-on",
        "the index goes to a function that cannot be looked into",
        "The function may use it as a Python int (a shape, a branch, a key).",
        "for i in range(n):\n    x = callback(x, i)",
        "Write the function into this module, or hand it an array.",
    ),
    Entry(
        "FSC410",
        "static-state",
        "a Python number kept as state is needed as a Python value",
        "As part of the carry the number becomes a tracer. A float that Python adds up in double "
        "precision is rounded there, and what is compared with it may jump in another iteration.",
        "k = 0\nfor x in xs:\n    k += 1\nreturn jnp.zeros(k)",
        "Compute the number from the trip count instead.",
    ),
    Entry(
        "FSC411",
        "aliased-state",
        "a mutable object that the loop changes has another name",
        "A scan gives back new objects: the other name would keep the old values.",
        'view = state\nfor x in xs:\n    state["s"] = state["s"] + x',
        "Rebind the state (`state = {**state, …}`) and read it by one name.",
    ),
    Entry(
        "FSC412",
        "scalar-seed",
        "a state that starts as a Python number and may become an array",
        "A scan promotes the dtype of such a start, never its shape.",
        "x = 0.0\nfor t in ts:\n    x = x + drift * t",
        "Start from an array of the final shape, such as jnp.zeros_like(drift).",
    ),
    Entry(
        "FSC413",
        "weak-chain",
        "Python numbers as state that feed each other",
        "A scan promotes weakly typed starts in one pass only; a chain of them is a type "
        "error in half precision.",
        "a = b = 0.0\nfor x in xs:\n    a, b = a + x, b + a",
        "Give the starts the dtype of the arrays: jnp.zeros((), x.dtype).",
    ),
    Entry(
        "FSC501",
        "outputs-in-fori-loop",
        "fori_loop cannot give back a value per iteration",
        "Only a scan has stacked outputs; for fori_loop a buffer of known shape and dtype "
        "would have to be invented.",
        "for x in xs:\n    ys.append(f(x))",
        "Convert it to a scan: `--to scan`.",
    ),
    Entry(
        "FSC601",
        "versions-differ",
        "the two versions do not give the same",
        "A call gave different results before and after the conversion.",
        "",
        "The file is left as it was; the first difference is shown.",
    ),
    Entry(
        "FSC602",
        "not-verified",
        "the two versions could not be compared",
        "The call failed, ran into its time limit, or gave nothing to compare.",
        "",
        'Give a call that works under jit: `--call "f(jnp.ones(3))"`.',
    ),
    Entry(
        "FSC901",
        "invalid-syntax",
        "the file is not Python that can be parsed",
        "",
        "",
        "Correct the file.",
    ),
    Entry(
        "FSC902",
        "unreadable",
        "the file cannot be read, decoded or written",
        "",
        "",
        "Check the path, its permissions and its encoding.",
    ),
    Entry(
        "FSC903",
        "unused-suppression",
        "a comment suppresses a code that is not reported there",
        "`# forscan: ignore` stands at no loop, or the loop at which it stands has been "
        "revised since. Only `check` over whole files says so.",
        "",
        "Remove the comment, or the code from its list.",
    ),
    Entry(
        "FSC904",
        "self-check",
        "the rewritten file did not pass forscan's own check",
        "Before a file is written it is parsed again and its comments are counted. This is "
        "a fault of forscan; the file is left as it was.",
        "",
        "Please report the loop.",
    ),
    Entry(
        "FSC905",
        "internal-error",
        "forscan itself went wrong while it looked at the loop",
        "This is a fault of forscan. The loop is left as it was, the others are treated as "
        "if it were refused.",
        "",
        "Please report the loop.",
    ),
)


def name_of(code: str) -> str:
    return REGISTRY[code].name
