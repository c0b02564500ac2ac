"""Is a piece of code a kernel of this contract? Judged from the text alone; the compiler has the last word."""

from __future__ import annotations

import ast
import re
import warnings

from ..contract import Contract
from .outcome import Outcome
from .scan import Definition, blanked, comments, definition, has_c_linkage, unclosed

Fault = tuple[Outcome, str]

_ELISIONS = re.compile(
    r"\b(rest|remainder) (of (the |this |your )?)?((original|existing|previous) )?"
    r"(code|kernel|function|implementation|program|file|body|class)\b"
    r"|\b(rest|remainder|remaining|everything else|other functions?|code|implementation|body|logic|kernel|function)\b"
    r"[\w ]{0,24}\b(unchanged|(is|are|remains?|stays?) the same|as before|as (in the )?original|omitted|elided)\b"
    r"|\b(existing|previous|original|your|remaining) (code|implementation|logic|kernel code|body)"
    r"( (goes|stays|is|remains?))?( here)?[\s.:…]*$"
    r"|^[^\w\n]*(same|unchanged|omitted)( as)?"
    r"( (before|above|original|the original|in the original|for brevity))?\W*$"
    r"|\bfor brevity\b|^[^\w\n]*(\.\.\.|…)[^\w\n]*$"
    r"|^[^\w\n]*(\.\.\.|…)[^\S\n]*(rest|same|existing|remaining|other|code|implementation|as before)\b"
    r"|\b(implement|implementation|code|logic)( \w+){0,3} (goes )?here\b",
    re.IGNORECASE | re.MULTILINE,
)
_ELLIPSIS_STATEMENT = re.compile(r"^[^\S\n]*(\.\.\.|…)[^\S\n]*;?[^\S\n]*$", re.MULTILINE)

_DECLARES = re.compile(r"\b(fn|func|function|subroutine|def)\b")

_INTEGER_64 = frozenset(
    [
        "long",
        "long int",
        "signed long",
        "long signed int",
        "long long",
        "long long int",
        "int64_t",
        "std::int64_t",
        "ssize_t",
        "ptrdiff_t",
        "std::ptrdiff_t",
        "size_t",
        "std::size_t",
        "unsigned long",
        "unsigned long int",
        "uint64_t",
        "std::uint64_t",
        "unsigned long long",
    ]
)
_ALIASES = {"int32_t": "int", "std::int32_t": "int", "signed int": "int", "signed": "int", "uint8_t": "unsigned char"}

_FOREIGN_TO_CPP = re.compile(r"__global__|__shared__|__device__|<<<|#include\s*<(cuda|hip/)|cudaMalloc|hipMalloc")
_LABELS = {
    "c": frozenset(
        (
            "",
            "c",
            "cc",
            "c++",
            "cpp",
            "cxx",
            "h",
            "hpp",
            "cuda",
            "cu",
            "hip",
            "cl",
            "opencl",
            "code",
            "text",
            "txt",
            "plaintext",
            "diff",
        )
    ),
    "python": frozenset(("", "py", "python", "python3", "triton", "numba", "code", "text", "txt", "plaintext", "diff")),
}


def parsed_python(code: str) -> ast.Module | SyntaxError:
    """Returns the syntax tree, or why there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # e.g. invalid escapes in a model's strings
        try:
            return ast.parse(code)
        except SyntaxError as error:
            return error
        except (ValueError, RecursionError, MemoryError) as error:  # NUL bytes, absurd nesting
            return SyntaxError(str(error))


def _family(code: str) -> str:
    """Returns ``"c"``, ``"python"`` or ``"unknown"``."""
    tree = parsed_python(code)
    statements = (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.ClassDef, ast.Assign, ast.For)
    if isinstance(tree, ast.Module) and any(isinstance(node, statements) for node in tree.body):
        return "python"
    python = len(
        re.findall(r"^[^\S\n]*(def \w+\(.*|import \w|from [\w.]+ import |class \w+.*:|@\w+)", code, re.MULTILINE)
    )
    c_like = len(re.findall(r"[;{}]\s*$|^[^\S\n]*#[^\S\n]*(include|define|pragma)", blanked(code), re.MULTILINE))
    if python > c_like:
        return "python"
    return "c" if c_like else "unknown"


def looks_like_code(code: str) -> bool:
    """Whether a text is code of any language rather than words."""
    if _family(code) != "unknown":
        return True
    declared = (_DECLARES.search(line) for line in code.split("\n"))
    return any(match is not None and re.search(r"[({]", match.string[match.end() :]) for match in declared)


def fault(code: str, label: str, wanted: Contract) -> Fault | None:
    """Returns what keeps a piece of code from being a kernel, or None."""
    if wanted.family == "python":
        return _python_fault(code, label, wanted)
    return (_opencl_fault if wanted.language == "opencl" else _c_fault)(code, label, wanted)


def _elision(texts: list[str], code: str) -> Fault | None:
    for text in texts:
        if _ELISIONS.search(text):
            return Outcome.ELIDED, f"parts are left out ({' '.join(text.split())[:80]!r}): write the whole kernel"
    if _ELLIPSIS_STATEMENT.search(code):
        return Outcome.ELIDED, "parts are left out ('...'): write the whole kernel"
    return None


def _wrong_language(code: str, label: str, wanted: Contract) -> Fault | None:
    other = {"c": "python", "python": "c"}[wanted.family]
    if _family(code) == other or (label and label not in _LABELS[wanted.family]):
        return Outcome.WRONG_LANGUAGE, f"the code is {label or other}, the kernel must be {wanted.title}"
    return None


def _c_fault(code: str, label: str, wanted: Contract) -> Fault | None:
    plain = blanked(code)
    found = definition(code, wanted.entry_point)
    elided = _elision(comments(code), plain)
    if found is None:
        if wanted.parameters is None and re.search(rf"\b{re.escape(wanted.entry_point)}\s*\(", plain):
            return elided
        missing = _wrong_language(code, label, wanted) or elided
        if missing is None and unclosed(code):
            missing = Outcome.TRUNCATED, "the code ends in the middle: braces or parentheses are still open"
        return missing or (Outcome.NO_ENTRY_POINT, f"the code does not define {wanted.signature}")
    if wanted.language == "cpp" and (foreign := _FOREIGN_TO_CPP.search(plain)):
        return Outcome.WRONG_LANGUAGE, f"the code is for a GPU ({foreign.group()}), the kernel must be plain C++"
    if elided is not None:
        return elided
    if unclosed(code):
        return Outcome.TRUNCATED, "the code ends in the middle: braces or parentheses are still open"
    return _signature_fault(found, wanted)


def _opencl_fault(code: str, label: str, wanted: Contract) -> Fault | None:
    elided = _elision(comments(code), blanked(code))
    if not re.search(rf"^[ \t]*#[ \t]*pragma[ \t]+{wanted.entry_point}\b", blanked(code), re.MULTILINE):
        missing = _wrong_language(code, label, wanted) or elided
        return missing or (Outcome.NO_ENTRY_POINT, f"the code launches no kernel: write {wanted.signature}")
    if elided is not None:
        return elided
    if unclosed(code):
        return Outcome.TRUNCATED, "the code ends in the middle: braces or parentheses are still open"
    return None


def _type_of(parameter: str) -> str:
    """Returns a parameter's type without names and qualifiers, in one spelling."""
    text = re.sub(r"\b(const|volatile|__?restrict(__)?|restrict)\b", " ", parameter)
    text = re.sub(r"\[\s*\w*\s*\]", "", text.replace("&", " & ")) + ("*" if re.search(r"\[\s*\w*\s*\]", text) else "")
    stars = text.count("*")
    words = text.replace("*", " ").split()
    known = {"long", "int", "short", "char", "unsigned", "signed", "float", "double"}
    if len(words) > 1 and words[-1] not in known:
        words = words[:-1]
    name = " ".join(words)
    name = "long" if name in _INTEGER_64 else _ALIASES.get(name, name)
    return name + "*" * stars


def _signature_fault(found: Definition, wanted: Contract) -> Fault | None:
    if re.search(r"\b(static|inline|template)\b", found.before):
        return (
            Outcome.NO_ENTRY_POINT,
            f"{wanted.entry_point} is static, inline or a template, so that no symbol has its name",
        )
    if wanted.parameters is None:
        return None
    returned = re.sub(
        r"__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\]|\b(extern|__host__|noexcept)\b", " ", found.before
    ).split()
    if returned[-1:] != ["void"]:
        return Outcome.SIGNATURE_CHANGED, f"{wanted.entry_point} must return void: {wanted.signature}"
    types = [_type_of(parameter) for parameter in found.parameters]
    expected = [_type_of(f"{parameter.type} {parameter.name}") for parameter in wanted.parameters]
    if types != expected:
        told = f"({', '.join(found.parameters)})"
        return Outcome.SIGNATURE_CHANGED, f"the parameters are {told[:200]}, they must be those of {wanted.signature}"
    for text, parameter in zip(found.parameters, wanted.parameters, strict=True):
        written = parameter.type.endswith("*") and not parameter.read_only
        if written and re.match(r"\s*(const\b|\w+\s+const\b)", text):
            return (
                Outcome.SIGNATURE_CHANGED,
                f"the output {parameter.name} is const, it must be as in {wanted.signature}",
            )
    return None


def _python_fault(code: str, label: str, wanted: Contract) -> Fault | None:
    tree = parsed_python(code)
    remarks = [match.group(1).strip() for match in re.finditer(r"#([^\n]*)", code)]
    defines = re.search(rf"^def\s+{re.escape(wanted.entry_point)}\s*\(", code, re.MULTILINE)
    if not defines:
        missing = _wrong_language(code, label, wanted) or _elision(remarks, code)
        return missing or (Outcome.NO_ENTRY_POINT, f"the code does not define {wanted.signature}")
    if (elided := _elision(remarks, code)) is not None:
        return elided
    if isinstance(tree, SyntaxError):
        # What else is wrong with the syntax is for the build to tell, with the line.
        at_end = (tree.lineno or 0) >= len(code.rstrip().split("\n")) or "was never closed" in (tree.msg or "")
        return (Outcome.TRUNCATED, f"the code ends in the middle ({tree.msg})") if at_end else None
    function = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == wanted.entry_point]
    if not function:
        return Outcome.NO_ENTRY_POINT, f"the code does not define {wanted.signature} at its top level"
    return _python_signature_fault(function[-1].args, wanted)


def _python_signature_fault(arguments: ast.arguments, wanted: Contract) -> Fault | None:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    required = positional - len(arguments.defaults)
    keyword_only = sum(default is None for default in arguments.kw_defaults)
    most = float("inf") if arguments.vararg else positional
    if not required <= wanted.arity <= most or keyword_only:
        takes = (
            f"takes {required} to {positional} arguments" if required != positional else f"takes {positional} arguments"
        )
        return Outcome.SIGNATURE_CHANGED, f"{wanted.entry_point} {takes}, it must be {wanted.signature}"
    return None


def with_c_linkage(code: str, wanted: Contract) -> tuple[str, list[str]]:
    """Adds a forgotten ``extern "C"`` to a definition that is right otherwise."""
    found = definition(code, wanted.entry_point) if wanted.family == "c" and wanted.parameters is not None else None
    if found is None or has_c_linkage(code, wanted.entry_point, found.start):
        return code, []
    start = found.start
    lead = re.search(r"extern\s+$", code[:start])
    if lead:
        return code[: lead.start()] + 'extern "C" ' + code[start:], ['added extern "C"']
    return code[:start] + 'extern "C" ' + code[start:], ['added extern "C"']
