#!/usr/bin/env python3
"""Record what the configuration classes of one SGLang release fill in, as data.

  PYTHON_OF_THE_RELEASE generate.py OUT.json      (an environment with that release of sglang and its transformers)

configs/ranges.py takes OUT.json into the tables here. It holds, for transformers' configuration classes and SGLang's own:

  types      model type -> class that AutoConfig uses
  registry   model type -> class that SGLang reads the file with afterwards
  classes    class -> {name, model_type, base, bases, fields, checks, alias, const, subs, init, post, rope, validators, text}

fields are the declared defaults, checks their declared types, alias the attribute map, const the class attributes and
subs the sub-configuration classes. init and post say how attributes follow from others: lists of rules,

  ["=", attribute, value]   ["$", name, value]   ["?", condition, rules, rules]   ["super", arguments]   …

with values as nested lists (["//", ["s", "hidden_size"], ["s", "num_attention_heads"]]); src/facts/transformers/config_rules.cpp
names all forms. rope are the rules of a class that converts rotary parameters its own way, validators its own checks. Rules that do not fit the forms are left out; the tool prints them.
"""
import ast
import collections
import copy
import dataclasses
import inspect
import json
import os
import sys
import textwrap
import types
import typing

os.environ.setdefault("SGLANG_USE_CPU_ENGINE", "0")
sys.modules.setdefault("kernels", None)  # code for GPUs, which the transformers of some releases cannot import; none is needed


# A class as a value is a text with this in front.
CLASS_VALUE = "class:"


class Unsupported(Exception):
    pass


def without_sentences(value):
    """Texts of log lines and errors decide nothing and stay where they are."""
    if isinstance(value, str):
        return "" if value.count(" ") >= 3 else value
    if isinstance(value, (list, tuple)):
        return [without_sentences(v) for v in value]
    if isinstance(value, dict):
        return {k: without_sentences(v) for k, v in value.items()}
    return value


BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitOr: "|"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
           ast.Is: "is", ast.IsNot: "isnot", ast.In: "in", ast.NotIn: "notin"}
FUNCTIONS = {"int", "len", "max", "min", "list", "tuple", "bool", "str", "round", "sum", "any", "all", "sorted", "set", "range",
             "enumerate", "float", "dict", "zip", "reversed", "abs"}
METHODS = {"join", "strip", "replace", "isdigit", "upper", "remove", "get", "pop", "copy", "items", "keys", "values", "setdefault", "update", "append", "extend", "split", "startswith",
           "endswith", "lower", "to_dict", "index", "count", "insert"}


def plain(value):
    """A Python value as JSON, or Unsupported."""
    import enum
    import torch
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(v) for v in value), key=repr)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    raise Unsupported(f"value {type(value).__name__}")


class Reader:
    """Turns the body of one constructor into rules."""

    def __init__(self, scope, names, cls, functions):
        self.scope, self.names = scope, names  # module globals, class -> key
        self.cls, self.functions = cls, functions
        self.locals = set()
        self.helpers = {}  # functions that the constructor defines for itself
        self.kwargs = "kwargs"

    def class_of(self, node):
        """The class key an expression names, when it names one."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            found = self.scope.get(node.id)
            if isinstance(found, type) and found in self.names:
                return self.names[found]
        return None

    def factory(self, node):
        """What is called to make a configuration object, or None."""
        if isinstance(node, ast.Subscript):
            base = ast.unparse(node.value)
            if base.endswith("sub_configs"):
                return ["sub", self.value(node.slice)]
            if base == "CONFIG_MAPPING":
                return ["type", self.value(node.slice)]
        if ast.unparse(node) == "AutoConfig.for_model":
            return ["type", None]
        if isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in self.locals):
            return ["named", self.value(node)]  # a class held in a variable or answered by a helper
        key = self.class_of(node)
        return ["class", key] if key else None


    def arguments(self, call):
        """Keyword arguments as one dict value."""
        out = ["dict"]
        parts = []
        for k in call.keywords:
            if k.arg is None:
                parts.append(out)
                parts.append(self.value(k.value))
                out = ["dict"]
            else:
                out += [["'", k.arg], self.value(k.value)]
        parts.append(out)
        parts = [p for p in parts if p != ["dict"]]
        if not parts:
            return ["dict"]
        return parts[0] if len(parts) == 1 else ["merge", *parts]

    def value(self, n):
        v = self.value
        if isinstance(n, ast.Constant):
            if isinstance(n.value, str):
                return ["'", n.value]
            if n.value is None or isinstance(n.value, (bool, int, float)):
                return n.value
            raise Unsupported(ast.unparse(n))
        if isinstance(n, ast.JoinedStr):
            return ["cat", *[["'", p.value] if isinstance(p, ast.Constant) else ["call", "str", v(p.value)] for p in n.values]]
        if isinstance(n, ast.Name):
            if n.id == "self":
                return ["self"]
            if n.id == self.kwargs:
                return ["k"]
            if n.id in self.locals:
                return ["l", n.id]
            if self.class_of(n):
                return ["'", CLASS_VALUE + self.class_of(n)]
            if n.id in self.scope:
                return self.literal(self.scope[n.id], n)
            raise Unsupported(f"name {n.id}")
        if isinstance(n, ast.Attribute):
            if isinstance(n.value, ast.Name) and n.value.id == "self":
                return ["s", n.attr]
            if isinstance(n.value, ast.Name) and n.value.id not in self.locals and n.value.id in self.scope:
                return self.literal(getattr(self.scope[n.value.id], n.attr), n)
            return [".", v(n.value), n.attr]
        if isinstance(n, ast.BinOp) and type(n.op) in BINARY:
            return [BINARY[type(n.op)], v(n.left), v(n.right)]
        if isinstance(n, ast.UnaryOp):
            if isinstance(n.op, ast.Not):
                return ["not", v(n.operand)]
            if isinstance(n.op, ast.USub):
                return ["-", 0, v(n.operand)]
        if isinstance(n, ast.BoolOp):
            return ["and" if isinstance(n.op, ast.And) else "or", *map(v, n.values)]
        if isinstance(n, ast.Compare):
            left, out = n.left, []
            for op, right in zip(n.ops, n.comparators):
                if ast.unparse(right) == "CONFIG_MAPPING":
                    known = ["knowntype", v(left)]
                    out.append(known if isinstance(op, ast.In) else ["not", known])
                    continue
                out.append([COMPARE[type(op)], v(left), v(right)])
                left = right
            return out[0] if len(out) == 1 else ["and", *out]
        if isinstance(n, ast.IfExp):
            return ["if", v(n.test), v(n.body), v(n.orelse)]
        if isinstance(n, (ast.List, ast.Tuple)):
            if any(isinstance(e, ast.Starred) for e in n.elts):
                return ["+", *self.starred(n.elts)]
            return ["list", *map(v, n.elts)]
        if isinstance(n, ast.Set):
            return ["list", *map(v, n.elts)]
        if isinstance(n, ast.Dict):
            parts, out = [], ["dict"]
            for k, x in zip(n.keys, n.values):
                if k is None:
                    parts += [out, v(x)]
                    out = ["dict"]
                else:
                    out += [v(k), v(x)]
            parts.append(out)
            parts = [p for p in parts if p != ["dict"]]
            return ["dict"] if not parts else parts[0] if len(parts) == 1 else ["merge", *parts]
        if isinstance(n, ast.Subscript):
            if isinstance(n.slice, ast.Slice):
                s = n.slice
                return ["slice", v(n.value), *[None if x is None else v(x) for x in (s.lower, s.upper, s.step)]]
            if ast.unparse(n.value) == "CONFIG_MAPPING":
                return ["typeclass", v(n.slice)]
            return ["[]", v(n.value), v(n.slice)]
        if isinstance(n, (ast.ListComp, ast.GeneratorExp, ast.SetComp)) and len(n.generators) == 1:
            return self.comprehension(n.elt, n.generators[0])
        if isinstance(n, ast.DictComp) and len(n.generators) == 1:
            names, items, test = self.loop(n.generators[0])
            return ["dictcomp", v(n.key), v(n.value), names, items, test]
        if isinstance(n, ast.NamedExpr):
            self.locals.add(n.target.id)
            return ["let", n.target.id, v(n.value)]
        if isinstance(n, ast.Call):
            return self.call(n)
        raise Unsupported(ast.unparse(n))

    def starred(self, elements):
        for e in elements:
            yield ["call", "list", self.value(e.value)] if isinstance(e, ast.Starred) else ["list", self.value(e)]

    def literal(self, found, n):
        try:
            found = plain(found)
        except Unsupported:
            raise Unsupported(ast.unparse(n)) from None
        return ["c", found] if isinstance(found, (list, dict, str)) else found

    def loop(self, g):
        names = [e.id for e in g.target.elts] if isinstance(g.target, ast.Tuple) else [g.target.id]
        items = self.value(g.iter)
        self.locals.update(names)
        test = None
        if g.ifs:
            test = self.value(g.ifs[0]) if len(g.ifs) == 1 else ["and", *map(self.value, g.ifs)]
        return names, items, test

    def comprehension(self, element, g):
        names, items, test = self.loop(g)
        return ["for", self.value(element), names, items, test]

    def call(self, n):
        v, f = self.value, n.func
        if isinstance(f, ast.Name) and f.id in self.helpers:
            return v(answered(self.helpers[f.id], n))
        made = self.factory(f)
        if made:
            if n.args and made == ["type", None] and len(n.args) == 1:
                return ["new", ["type", v(n.args[0])], self.arguments(n)]
            if n.args:
                raise Unsupported(ast.unparse(n))
            arguments = self.arguments(n)
            if made == ["type", None]:
                made = ["type", ["[]", arguments, ["'", "model_type"]]]
            return ["new", made, arguments]
        if isinstance(f, ast.Name):
            if f.id == "getattr":
                return ["getattr", *map(v, n.args)]
            if f.id == "hasattr":
                return ["hasattr", *map(v, n.args)]
            if f.id == "isinstance":
                return self.isinstance(n)
            if f.id == "dict" and n.keywords:
                return self.arguments(n)
            if f.id == "PretrainedConfig" or f.id == "PreTrainedConfig":
                return ["new", ["class", "PreTrainedConfig"], self.arguments(n)]
            if f.id in FUNCTIONS and not n.keywords:
                return ["call", f.id, *map(v, n.args)]
        if isinstance(f, ast.Attribute):
            text = ast.unparse(f)
            if text in ("math.ceil", "math.floor", "math.log2", "math.log", "math.sqrt", "math.prod", "np.prod") and not n.keywords:
                return ["call", f.attr, *map(v, n.args)]
            if text == "functools.reduce" and [ast.unparse(a) for a in (n.args[0], n.args[2])] == ["operator.mul", "1"]:
                return ["call", "prod", v(n.args[1])]
            if text == "inspect.signature" and isinstance(n.args[0], ast.Attribute):
                return ["signature", *self.factory(n.args[0].value)]
            if text in ("copy.deepcopy", "copy.copy"):
                return ["call", "copy", *map(v, n.args)]
            if f.attr in METHODS and not n.keywords:
                return ["m", f.attr, v(f.value), *map(v, n.args)]
            if f.attr in METHODS and f.attr == "update" and not n.args:
                return ["m", f.attr, v(f.value), self.arguments(n)]
        if isinstance(f, ast.Attribute) and f.attr == "from_dict" and len(n.args) == 1 and not n.keywords and self.factory(f.value):
            return ["new", self.factory(f.value), v(n.args[0])]
        if isinstance(f, ast.Name) and f.id == "deepcopy":
            return ["call", "copy", *map(v, n.args)]
        if isinstance(f, ast.Name) and f.id == "_first_not_none":
            return ["first", *map(v, n.args)]
        if isinstance(f, ast.Attribute) and f.attr == "get_text_config" and not n.args and not n.keywords:
            return ["textconfig", v(f.value)]
        if isinstance(f, ast.Name) and f.id == "next" and len(n.args) == 2:
            return ["next", v(n.args[0]), v(n.args[1])]
        if isinstance(f, ast.Name) and f.id == "remap_legacy_layer_types" and len(n.args) == 1:
            return ["call", "remap_layer_types", v(n.args[0])]
        own = self.own_function(f)
        if own:
            return ["own", own, self.bind(own, n)]
        raise Unsupported(ast.unparse(n))

    def own_function(self, f):
        """The key of a helper of the module or a method of the class that constructors use."""
        if isinstance(f, ast.Name) and isinstance(self.scope.get(f.id), types.FunctionType):
            found = self.scope[f.id]
            return self.add_function(found, found.__module__.rsplit(".", 1)[-1] + "." + f.id)
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and (f.value.id in ("self", "cls") or f.value.id == self.cls.__name__):
            found = inspect.getattr_static(self.cls, f.attr, None)
            kind = type(found).__name__
            if isinstance(found, (staticmethod, classmethod)):
                found = found.__func__
            if isinstance(found, types.FunctionType):
                owner = next(c for c in self.cls.__mro__ if f.attr in vars(c))  # of a mixin, one for all that have it
                key = self.names[self.cls] if owner in self.names else owner.__name__
                return self.add_function(found, f"{key}.{f.attr}", kind)
        return None

    def add_function(self, found, key, kind="function"):
        if key in self.functions:
            return key
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
        except (OSError, TypeError, SyntaxError):
            return None
        node = tree.body[0]
        if not isinstance(node, ast.FunctionDef):
            return None
        entry = {"parameters": [], "rules": []}
        if kind == "function" and found.__module__.startswith("sglang.") and "." not in found.__qualname__:
            entry["own"] = True  # stands in a traceback under its name
        self.functions[key] = entry
        reader = Reader(dict(found.__globals__), self.names, self.cls, self.functions)
        reader.kwargs = None
        parameters = list(inspect.signature(found).parameters.values())
        if kind == "classmethod" or (parameters and parameters[0].name in ("self", "cls")):
            parameters = parameters[1:]
        for p in parameters:
            if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
                del self.functions[key]
                return None
            reader.locals.add(p.name)
            entry["parameters"].append([p.name, None if p.default is p.empty else plain(p.default)])

        def fail(statement, why):
            raise Unsupported(f"{key}: {why}")
        try:
            entry["rules"] = reader.rules(node.body, fail)
        except Unsupported:
            del self.functions[key]
            raise
        return key

    def bind(self, key, call):
        """Arguments of a helper in the order of its parameters."""
        names = [p[0] for p in self.functions[key]["parameters"]]
        given = {n: self.value(a) for n, a in zip(names, call.args)}
        for k in call.keywords:
            if k.arg is None:
                raise Unsupported(ast.unparse(call))
            given[k.arg] = self.value(k.value)
        return [[n, v] for n, v in given.items()]

    def isinstance(self, n):
        kinds = []
        target = n.args[1]
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        if isinstance(target, ast.BinOp):
            parts = [target.left, target.right]
        for part in parts:
            if isinstance(part, ast.Name) and part.id in self.locals:
                kinds.append(["l", part.id])
                continue
            name = ast.unparse(part).split(".")[-1]
            kinds.append("PreTrainedConfig" if name == "PretrainedConfig" else name)
        return ["isinstance", self.value(n.args[0]), kinds]

    # Statements ---------------------------------------------------------------------------------------------------
    def rules(self, body, report):
        out = []
        if isinstance(body[-1] if body else None, ast.Raise) and all(builds_text(s) for s in body[:-1]):
            body = body[-1:]
        for s in body:
            try:
                out += self.rule(s, report)
            except Unsupported as e:
                report(s, str(e))
        return out

    def rule(self, s, report):
        if isinstance(s, (ast.Pass, ast.Import, ast.ImportFrom)):
            if isinstance(s, ast.ImportFrom):
                module = sys.modules.get(s.module or "")
                for a in s.names:
                    if module is not None and hasattr(module, a.name):
                        self.scope[a.asname or a.name] = getattr(module, a.name)
            return []
        if isinstance(s, ast.FunctionDef):
            self.helpers[s.name] = s
            return []
        if isinstance(s, ast.AnnAssign):
            if s.value is None:
                return []
            return self.assign(s.target, self.value(s.value))
        if isinstance(s, ast.Assign):
            if ast.unparse(s.targets[0]) == f"(self.backbone_config, {self.kwargs})" and isinstance(s.value, ast.Call) \
                    and ast.unparse(s.value.func) == "consolidate_backbone_kwargs_to_config":
                named = [k for k in s.value.keywords if k.arg is not None]  # the others are the constructor's own
                return [["backbone", self.arguments(ast.Call(s.value.func, [], named))]]
            if len(s.targets) == 1 and isinstance(s.targets[0], ast.Tuple):
                names = s.targets[0].elts
                out = [["$", "_t", self.value(s.value)]]
                for i, t in enumerate(names):
                    out += self.assign(t, ["[]", ["l", "_t"], i])
                return out
            if ast.unparse(s.value).startswith("super().convert_rope_params_to_dict"):
                return [["superrope", self.arguments(s.value)]]
            value = self.value(s.value)
            return [r for t in s.targets for r in self.assign(t, value)]
        if isinstance(s, ast.AugAssign):
            return self.assign(s.target, [BINARY[type(s.op)], self.value(s.target), self.value(s.value)])
        if isinstance(s, ast.If):
            test = self.value(s.test)
            return [["?", test, self.rules(s.body, report), self.rules(s.orelse, report)]]
        if isinstance(s, ast.For):
            names, items, _ = self.loop(ast.comprehension(target=s.target, iter=s.iter, ifs=[], is_async=0))
            return [["each", names, items, self.rules(s.body, report)]]
        if isinstance(s, ast.Raise):
            name = ast.unparse(s.exc.func if isinstance(s.exc, ast.Call) else s.exc)
            return [["raise", name]]
        if isinstance(s, ast.Return):
            if s.value is not None and ast.unparse(s.value).startswith("super().convert_rope_params_to_dict"):
                return [["superrope", self.arguments(s.value)], ["return", None]]
            if s.value is not None and "super()" in ast.unparse(s.value):
                return self.rule(ast.Expr(s.value), report) + [["return", None]]
            return [["return", None if s.value is None else self.value(s.value)]]
        if isinstance(s, ast.Continue):
            return [["continue"]]
        if isinstance(s, ast.Assert):
            return [["?", self.value(s.test), [], [["raise", "AssertionError"]]]]
        if isinstance(s, ast.Delete):
            return [["del", self.value(t)] for t in s.targets]
        if isinstance(s, ast.Expr):
            if isinstance(s.value, ast.Constant):
                return []
            if isinstance(s.value, ast.Call):
                text = ast.unparse(s.value.func)
                if text.startswith("super().validate_"):
                    return [["validate", text.split(".")[1]]]
                if text in ("super().__post_init__", "super().__init__"):
                    if s.value.args and ast.unparse(s.value.args[0]) != "*args":
                        raise Unsupported(ast.unparse(s))
                    return [["super" if text.endswith("post_init__") else "superinit", self.arguments(s.value)]]
                if text == "PreTrainedConfig.__post_init__" and self.cls.__bases__[0].__name__ == "PreTrainedConfig":
                    own = s.value.args[1:]  # behind self
                    return [["super", self.arguments(ast.Call(s.value.func, own, s.value.keywords))]]
                if text == "logger.warning" and self.cls.__module__.startswith("sglang."):
                    return [["warn"]]
                if text.startswith(("logger.", "warnings.")) or text == "rope_config_validation":
                    return []
                if text == "setattr":
                    target, name, value = s.value.args
                    return [["setattr", self.value(target), self.value(name), self.value(value)]]
                if text.startswith("self.") and text.count(".") == 1:
                    name = text.split(".")[1]
                    if name in ("validate", "validate_layer_type", "validate_architecture", "validate_rope"):
                        return []
                    if name in ("standardize_rope_params",):
                        return [["rope"]]
                return [["do", self.value(s.value)]]
        raise Unsupported(ast.unparse(s))

    def assign(self, target, value):
        if isinstance(target, ast.Name):
            if target.id == self.kwargs:
                return [["kwargs", value]]
            self.locals.add(target.id)
            return [["$", target.id, value]]
        if isinstance(target, ast.Attribute):
            if isinstance(target.value, ast.Name) and target.value.id == "self":
                return [["=", target.attr, value]]
            return [["setattr", self.value(target.value), ["'", target.attr], value]]
        if isinstance(target, ast.Subscript):
            return [["item", self.value(target.value), self.value(target.slice), value]]
        raise Unsupported(ast.unparse(target))


def answered(helper, call):
    """What a helper of conditions and returns answers, as one expression with the call's arguments in it."""
    if call.keywords or len(call.args) != len(helper.args.args):
        raise Unsupported(ast.unparse(call))
    given = dict(zip((a.arg for a in helper.args.args), call.args))

    class Given(ast.NodeTransformer):
        def visit_Name(self, node):
            return given.get(node.id, node)

    def answer(body):
        first, rest = body[0], body[1:]
        if isinstance(first, ast.Return) and first.value is not None:
            return Given().visit(copy.deepcopy(first.value))
        if isinstance(first, ast.If) and (rest or first.orelse):
            test = Given().visit(copy.deepcopy(first.test))
            return ast.IfExp(test, answer(first.body), answer(first.orelse or rest))
        raise Unsupported(ast.unparse(first))

    return answer(helper.body)


def builds_text(s):
    """A statement in front of a raise that only makes its message."""
    targets = s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.AugAssign) else [None]
    return all(isinstance(t, ast.Name) for t in targets)


def parse_function(cls, name):
    f = cls.__dict__.get(name)
    f = inspect.unwrap(f) if f is not None else None
    if f is None or not hasattr(f, "__code__") or f.__code__.co_filename.startswith("<"):
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(f)))
    except (OSError, TypeError, SyntaxError):
        return None
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef) or node.name != name:
        return None
    return f, node


def text_attribute(cls):
    """The attribute that a get_text_config of SGLang's own reads first: transformers' checks call it while the object is made."""
    found = parse_function(cls, "get_text_config") if cls.__module__.startswith("sglang.") else None
    body = [s for s in found[1].body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))] if found else []
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return None
    node = body[0].value
    while isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self" else None


def type_check(annotation):
    """A declared type as data: a name, ["union", …], ["list", item], ["dict", key, value], ["literal", …]; None = any."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is None or annotation is type(None):
        return "None"
    if origin in (typing.Union, types.UnionType):
        parts = [type_check(a) for a in args]
        return None if None in parts else ["union", *parts]
    if origin is typing.Literal:
        return ["literal", *args]
    if origin is list:
        return ["list", type_check(args[0])]
    if origin is dict:
        return ["dict", *map(type_check, args)]
    if origin is tuple:
        return "tuple"
    if origin is not None and getattr(origin, "__name__", "") == "Sequence":
        return "sequence"
    if isinstance(annotation, type):
        return annotation.__name__
    return None


def describe(cls, names, base_class, functions, problems):
    out = {"name": cls.__name__, "model_type": cls.__dict__.get("model_type", getattr(cls, "model_type", ""))}
    mro = [c for c in cls.__mro__[1:] if issubclass(c, base_class)]
    out["base"] = names[mro[0]] if mro else None
    out["bases"] = [c.__name__ for c in cls.__mro__[1:] if c.__name__ not in ("object",) and issubclass(c, base_class)]
    out["own"] = cls.__module__.startswith("sglang.")
    out["strict"] = "validate" in vars(cls)
    validators = {}
    for name in dir(cls):
        if not name.startswith("validate_"):
            continue
        owner = next(c for c in cls.__mro__ if name in vars(c))
        found = vars(owner)[name]
        if isinstance(found, staticmethod):  # one class declares its check so, and it is still handed the object
            found = found.__func__
        if owner is base_class or not issubclass(owner, base_class) or not isinstance(found, types.FunctionType):
            continue
        try:
            reader = Reader(dict(found.__globals__), names, owner, functions)
            validators[name] = reader.add_function(found, f"{names[owner]}.{name}")
        except Unsupported as e:
            validators[name] = None
            problems.append((cls.__name__, "validator", name, str(e)))
    out["validators"] = validators
    out["ignored_rope_keys"] = plain(set(getattr(cls, "ignore_keys_at_rope_validation", None) or ()))
    out["alias"] = dict(getattr(cls, "attribute_map", {}) or {})

    def report(where):
        def inner(statement, why):
            problems.append((cls.__name__, where, ast.unparse(statement)[:300], why[:160]))
        return inner

    fields, checks = {}, {}
    for f in dataclasses.fields(cls):
        value = None
        if f.default is not dataclasses.MISSING:
            value = f.default
        elif f.default_factory is not dataclasses.MISSING:
            value = f.default_factory()
        try:
            fields[f.name] = plain(value)
        except Unsupported:
            fields[f.name] = None
        checks[f.name] = type_check(f.type)
    out["fields"] = fields
    out["checks"] = checks
    const = {}
    for c in reversed(cls.__mro__):
        if c.__module__ == "builtins":
            continue
        for k, v in vars(c).items():
            if k.startswith("__") or k in ("_abc_impl", "_auto_class", "_attn_implementation_internal") or k in fields or callable(v) or isinstance(v, (property, classmethod, staticmethod)):
                continue
            if k in ("attribute_map", "sub_configs", "keys_to_ignore_at_inference", "base_model_tp_plan", "base_model_pp_plan",
                     "base_model_ep_plan", "base_model_fsdp_plan", "has_no_defaults_at_init", "ignore_keys_at_rope_validation"):
                continue
            try:
                const[k] = plain(v)
            except Unsupported:
                pass
    out["const"] = const
    properties, readonly = {}, []
    for c in cls.__mro__:
        if c is base_class or not issubclass(c, base_class):
            continue
        for k, v in vars(c).items():
            if not isinstance(v, property) or k in properties:
                continue
            if v.fset is None:
                readonly.append(k)
            try:
                reader = Reader(dict(v.fget.__globals__), names, c, functions)
                properties[k] = reader.add_function(v.fget, f"{names[c]}.{k}")
            except Unsupported as e:
                properties[k] = None
                problems.append((cls.__name__, "property", k, str(e)))
    out["properties"] = properties
    out["readonly"] = sorted(readonly)
    if text := text_attribute(cls):
        out["text"] = text
    out["rope_labels"] = plain(getattr(cls, "_rope_type_labels", None))
    subs = {}
    for k, sub in (getattr(cls, "sub_configs", {}) or {}).items():
        subs[k] = names.get(sub, "auto" if sub.__name__ == "AutoConfig" else None)
    out["subs"] = subs
    for where, own in (("init", "__init__"), ("post", "__post_init__"), ("rope", "convert_rope_params_to_dict")):
        found = None if cls is base_class else parse_function(cls, own)
        if not found:
            continue
        f, node = found
        reader = Reader(dict(f.__globals__), names, cls, functions)
        signature = inspect.signature(f)
        parameters = []
        for p in list(signature.parameters.values())[1:]:
            if p.kind is p.VAR_KEYWORD:
                reader.kwargs = p.name
            elif p.kind is p.VAR_POSITIONAL:
                reader.locals.add(p.name)  # configurations are always made by keyword
            else:
                reader.locals.add(p.name)
                default = None
                if p.default is not p.empty:
                    try:
                        default = plain(p.default)
                    except Unsupported:
                        default = None
                parameters.append([p.name, default])
        positional = [["$", p.name, ["list"]] for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
        out[where] = positional + reader.rules(node.body, report(where))
        if where == "init":
            out["parameters"] = parameters
        elif where == "rope":
            out[where] = [["$", name, default] for name, default in parameters] + out[where]
    changed = changed_dictionary(cls, names, base_class, functions)
    if changed is not None:
        out["from_dict"] = changed
    return out


def changed_dictionary(cls, names, base_class, functions):
    """What a class makes of the file's content before its constructor sees it: from_dict around the inherited one."""
    owner = next(c for c in cls.__mro__ if "from_dict" in vars(c))
    if owner is base_class or not issubclass(owner, base_class):
        return None
    found = vars(owner)["from_dict"].__func__
    try:
        body = [s for s in ast.parse(textwrap.dedent(inspect.getsource(found))).body[0].body if not
                (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    except (OSError, TypeError, SyntaxError):
        return None
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "super().from_dict" or not call.args:
        return None
    reader = Reader(dict(found.__globals__), names, owner, functions)
    reader.locals.add(list(inspect.signature(found).parameters)[1])
    try:
        return [list(inspect.signature(found).parameters)[1], reader.value(call.args[0])]
    except Unsupported:
        return None


def main():
    import logging
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES
    import sglang.srt.utils.hf_transformers.common as common
    base = transformers.PretrainedConfig
    logging.disable(logging.CRITICAL)

    types_of = {}
    for model_type in sorted(set(CONFIG_MAPPING_NAMES) | set(CONFIG_MAPPING._extra_content)):
        try:
            types_of[model_type] = CONFIG_MAPPING[model_type]
        except Exception as e:  # a class whose module needs a package that is not installed
            print("no class for", model_type, e, file=sys.stderr)
    registry = dict(common._CONFIG_REGISTRY)
    seen, queue = [], [base, *types_of.values(), *registry.values()]
    for name in dir(sys.modules["sglang.srt.configs"]):
        found = getattr(sys.modules["sglang.srt.configs"], name)
        if isinstance(found, type) and issubclass(found, base):
            queue.append(found)
    while queue:
        cls = queue.pop(0)
        if cls in seen:
            continue
        seen.append(cls)
        queue += [c for c in cls.__mro__ if isinstance(c, type) and issubclass(c, base)]
        queue += [c for c in (getattr(cls, "sub_configs", {}) or {}).values() if isinstance(c, type) and issubclass(c, base)]
        module = sys.modules[cls.__module__]  # classes that constructors name without declaring them
        queue += [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, base)]
    count = collections.Counter(c.__name__ for c in seen)
    names = {}
    for c in seen:
        key = c.__name__
        if count[key] > 1 and not c.__module__.startswith("transformers."):
            key = "sglang." + c.__module__.rsplit(".", 1)[-1] + "." + key
        elif count[key] > 1:
            key = c.__module__.rsplit(".", 1)[-1].removeprefix("configuration_") + "." + key if key in names.values() else key
        names[c] = key
    names[base] = "PreTrainedConfig"
    assert len(set(names.values())) == len(names), [k for k, n in collections.Counter(names.values()).items() if n > 1]
    problems = []
    classes, functions = {}, {}
    for c in sorted(seen, key=lambda c: names[c]):
        classes[names[c]] = describe(c, names, base, functions, problems)
    generation = sorted(transformers.GenerationConfig._get_default_generation_params())
    allowed = {}
    module = sys.modules["transformers.configuration_utils"]
    for k in ("ALLOWED_LAYER_TYPES", "ALLOWED_ATTN_LAYER_TYPES", "ALLOWED_MLP_LAYER_TYPES", "_LEGACY_LAYER_TYPE_REMAP"):
        if hasattr(module, k):
            allowed[k.strip("_").lower()] = plain(getattr(module, k))
    out = {
        "transformers": transformers.__version__,
        "types": {k: names[v] for k, v in types_of.items()},
        "registry": {k: names[v] for k, v in sorted(registry.items())},
        "generation_parameters": generation,
        **allowed,
        **gguf_tables(),
        "functions": functions,
        "classes": classes,
    }
    write(sys.argv[1], without_sentences(out))
    print(len(types_of), "types,", len(classes), "classes,", len(problems), "rules left out", file=sys.stderr)
    for p in problems:
        print(*p, sep=" | ", file=sys.stderr)


def gguf_tables():
    """How the header of a GGUF file becomes a configuration."""
    from transformers.integrations import ggml
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    return {
        "gguf_keys": plain(ggml.GGUF_CONFIG_MAPPING),
        "gguf_defaults": plain(ggml.GGUF_CONFIG_DEFAULTS_MAPPING),
        "causal_models": dict(sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items())),
    }


def write(path, out):
    functions = out["functions"]
    with open(path, "w") as f:
        f.write("{\n")
        for k, v in out.items():
            if k not in ("classes", "functions"):
                f.write(f" {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))},\n")
        rows = [f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in functions.items()]
        f.write(' "functions": {\n' + ",\n".join(rows) + "\n },\n")
        rows = [f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in out["classes"].items()]
        f.write(' "classes": {\n' + ",\n".join(rows) + "\n }\n}\n")


if __name__ == "__main__":
    main()
