// Checks a value against the API's own schema, and says what is wrong in the reader's language.
// Knows the part of OpenAPI that the API uses. Pure.
import { texts, translator } from "../i18n/index.ts";

export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string;
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
}

export type Path = (string | number)[];
export interface Problem {
  path: Path;
  message: string;
  /** The problem is with the name of the field, not with its value. */
  onKey: boolean;
}

export const checkWords = texts({
  zh: {
    type: "应为 {want}，而不是 {have}",
    required: "缺少必填字段 {name}",
    unknown: "没有名为 {name} 的字段{hint}",
    choice: "应为以下之一：{choices}",
    minimum: "不能小于 {n}",
    maximum: "不能大于 {n}",
    short: "不能为空",
    long: "最多 {n} 个字符",
    few: "至少需要 {n} 项",
    many: "最多 {n} 项",
    pattern: "格式不正确",
    jobName: "只能包含小写字母、数字和“-”，以字母开头，以字母或数字结尾",
    hint: "，是否指 {name}？",
    string: "字符串",
    integer: "整数",
    number: "数字",
    boolean: "true 或 false",
    object: "映射",
    array: "列表",
    null: "空",
  },
  en: {
    type: "must be {want}, not {have}",
    required: "the field {name} is missing",
    unknown: "there is no field {name}{hint}",
    choice: "must be one of {choices}",
    minimum: "must be at least {n}",
    maximum: "must be at most {n}",
    short: "must not be empty",
    long: "at most {n} characters",
    few: "at least {n} entries are needed",
    many: "at most {n} entries",
    pattern: "has the wrong form",
    jobName:
      "use lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit",
    hint: ", did you mean {name}?",
    string: "a string",
    integer: "a whole number",
    number: "a number",
    boolean: "true or false",
    object: "a mapping",
    array: "a list",
    null: "nothing",
  },
});
const t = translator(checkWords);
type TypeWord = "string" | "integer" | "number" | "boolean" | "object" | "array" | "null";

export type Resolve = (ref: string) => Schema | undefined;

/** The schema itself, with references followed. */
export function plain(schema: Schema | undefined, resolve: Resolve): Schema {
  let one = schema ?? {};
  for (let i = 0; i < 8; i++) {
    const ref = one.$ref ?? (one.allOf?.length === 1 ? one.allOf[0]!.$ref : undefined);
    if (!ref) break;
    one = {
      ...resolve(ref),
      ...(one.description ? { description: one.description } : {}),
      ...(one.default !== undefined ? { default: one.default } : {}),
    };
  }
  return one;
}

function typeOf(value: unknown): TypeWord {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value as TypeWord;
}

function fits(have: TypeWord, schema: Schema): boolean {
  if (!schema.type || schema["x-kubernetes-int-or-string"] || schema.format === "int-or-string")
    return true;
  if (schema.type === "number") return have === "number" || have === "integer";
  // Quantities are written as numbers too.
  return (
    have === schema.type ||
    (schema.type === "string" &&
      schema.format === "quantity" &&
      have !== "object" &&
      have !== "array")
  );
}

/** The nearest name, when it is near. */
export function nearest(name: string, names: string[]): string | undefined {
  const distance = (a: string, b: string): number => {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++)
        next[j] = Math.min(
          row[j]! + 1,
          next[j - 1]! + 1,
          row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
        );
      row = next;
    }
    return row[b.length]!;
  };
  const ranked = names
    .map((one) => ({ one, d: distance(name.toLowerCase(), one.toLowerCase()) }))
    .sort((a, b) => a.d - b.d);
  return ranked[0] && ranked[0].d <= Math.max(2, name.length / 3) ? ranked[0].one : undefined;
}

export function check(value: unknown, schema: Schema, resolve: Resolve): Problem[] {
  const problems: Problem[] = [];
  const add = (path: Path, message: string, onKey = false): void => {
    problems.push({ path, message, onKey });
  };

  const visit = (at: unknown, raw: Schema | undefined, path: Path): void => {
    const s = plain(raw, resolve);
    const have = typeOf(at);
    if (have === "null") return; // as if the field were not there
    if (!fits(have, s))
      return add(path, t("type", { want: t((s.type ?? "string") as TypeWord), have: t(have) }));
    if (s.enum && !s.enum.includes(at)) add(path, t("choice", { choices: s.enum.join(", ") }));
    if (typeof at === "number") {
      if (s.minimum !== undefined && at < s.minimum) add(path, t("minimum", { n: s.minimum }));
      if (s.maximum !== undefined && at > s.maximum) add(path, t("maximum", { n: s.maximum }));
    } else if (typeof at === "string") visitText(at, s, path);
    else if (Array.isArray(at)) visitList(at, s, path);
    else if (have === "object") visitObject(at as Record<string, unknown>, s, path);
  };
  const visitText = (at: string, s: Schema, path: Path): void => {
    if (s.minLength && at.length < s.minLength) add(path, t("short"));
    if (s.maxLength !== undefined && at.length > s.maxLength)
      add(path, t("long", { n: s.maxLength }));
    if (s.pattern && !new RegExp(s.pattern, "u").test(at)) add(path, t("pattern"));
  };
  const visitList = (at: unknown[], s: Schema, path: Path): void => {
    if (s.minItems !== undefined && at.length < s.minItems) add(path, t("few", { n: s.minItems }));
    if (s.maxItems !== undefined && at.length > s.maxItems) add(path, t("many", { n: s.maxItems }));
    at.forEach((one, i) => visit(one, s.items, [...path, i]));
  };
  const visitObject = (at: Record<string, unknown>, s: Schema, path: Path): void => {
    for (const name of s.required ?? [])
      if (at[name] === undefined) add(path, t("required", { name }), true);
    for (const [name, one] of Object.entries(at)) {
      const known = s.properties?.[name];
      if (known) visit(one, known, [...path, name]);
      else if (typeof s.additionalProperties === "object")
        visit(one, s.additionalProperties, [...path, name]);
      else if (
        s.properties &&
        !s.additionalProperties &&
        !s["x-kubernetes-preserve-unknown-fields"]
      ) {
        const near = nearest(name, Object.keys(s.properties));
        add(
          [...path, name],
          t("unknown", { name, hint: near ? t("hint", { name: near }) : "" }),
          true,
        );
      }
    }
  };
  visit(value, schema, []);
  // The schema knows nothing of names; the server's rule for jobs is this one.
  const name = (value as { metadata?: { name?: unknown } } | null)?.metadata?.name;
  if (typeof name === "string" && !/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name))
    add(["metadata", "name"], t("jobName"));
  return problems;
}

/** The schema at a path, or undefined. */
export function schemaAt(schema: Schema, path: Path, resolve: Resolve): Schema | undefined {
  let at: Schema | undefined = plain(schema, resolve);
  for (const part of path) {
    if (!at) return undefined;
    const next: Schema | undefined =
      typeof part === "number"
        ? at.items
        : (at.properties?.[part] ??
          (typeof at.additionalProperties === "object" ? at.additionalProperties : undefined));
    at = next ? plain(next, resolve) : undefined;
  }
  return at;
}
