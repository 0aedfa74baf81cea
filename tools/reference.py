#!/usr/bin/python3
"""reference.py MUSTER FOLDER [--check] - the reference of muster's own kinds, a page each, from the definitions that
`muster manifests` prints, which come from the kinds' tables. --check: exits 1 when a page there is not what they say."""
import pathlib
import subprocess
import sys

import yaml

# Kubernetes' own, explained there.
FOREIGN = {"template": "a pod template ([pods](../pods.md))", "resources": "a container's requests and limits"}


def type_of(schema):
    if "items" in schema:
        return "[]" + type_of(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        return "map of " + type_of(schema["additionalProperties"])
    return "integer or string" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "any")


def bounds(schema):
    inner = schema.get("items", schema)
    if "enum" in inner:
        yield "one of " + ", ".join(f"`{value}`" if value != "" else '`""`' for value in inner["enum"])
    if "minimum" in inner or "maximum" in inner:
        yield " ".join(f"{word} {inner[key]}" for word, key in (("from", "minimum"), ("to", "maximum")) if key in inner)
    if "default" in schema:
        yield f"default `{yaml.safe_dump(schema['default'], default_flow_style=True).removesuffix('...' + chr(10)).strip()}`"


def rows(schema, path=""):
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        at = f"{path}{name}"
        text = field.get("description", "").replace("\n", " ").replace("|", "\\|") or FOREIGN.get(name, "")
        limits = "; ".join(bounds(field))
        yield f"| `{at}` | {type_of(field)}{', required' if name in required else ''} | {text}{f' ({limits})' if limits else ''} |"
        if name in FOREIGN:
            continue
        inner = field.get("items", field)
        yield from rows(inner, f"{at}{'[]' if 'items' in field else ''}.")


def page(definition):
    names, version = definition["spec"]["names"], definition["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    short = ", ".join(f"`{name}`" for name in names.get("shortNames", []))
    lines = [f"# {names['kind']}", "", f"`apiVersion: {definition['spec']['group']}/{version['name']}`, `kind: {names['kind']}`"
             + (f"; `kubectl get {names['plural']}`, short: {short}" if short else "") + ".", "",
             schema.get("description", ""), "", "Generated from the kinds' tables by `tools/reference.py`; `muster explain` says the same.", ""]
    for part in ("spec", "status"):
        if part in schema.get("properties", {}):
            lines += [f"## {part}", "", "| field | type | |", "|---|---|---|", *rows(schema["properties"][part]), ""]
    return "\n".join(lines)


def main():
    muster, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    text = subprocess.run([muster, "manifests"], capture_output=True, text=True, check=True).stdout
    wrong = False
    for definition in yaml.safe_load_all(text):
        if definition and definition["kind"] == "CustomResourceDefinition":
            path = folder / f"{definition['spec']['names']['singular']}.md"
            written = page(definition)
            if "--check" not in sys.argv:
                path.write_text(written)
            elif not path.is_file() or path.read_text() != written:
                print(f"{path} is not what the kinds' tables say: make reference")
                wrong = True
    sys.exit(wrong)


if __name__ == "__main__":
    main()
