// Why the server refused something, in the reader's language: by the reason and the details of its
// Status, which are meant for programs. In English its own sentence says it best. Pure.
import type { Failure } from "../data/api.ts";
import type { StatusCause } from "../data/types.ts";
import { JOB_KINDS } from "../data/kinds.ts";
import type { Lang } from "../i18n/index.ts";

/** What names may look like: Kubernetes' sentence begins so, and ends with a regular expression. */
const RULES: readonly [begins: string, zh: string, en: string][] = [
  [
    "a lowercase RFC 1123 label",
    "只能包含小写字母、数字和“-”，以字母或数字开头和结尾",
    "use lower-case letters, digits and '-', beginning and ending with a letter or digit",
  ],
  [
    "a lowercase RFC 1123 subdomain",
    "只能包含小写字母、数字、“-”和“.”，以字母或数字开头和结尾",
    "use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit",
  ],
  [
    "a DNS-1035 label",
    "只能包含小写字母、数字和“-”，以字母开头，以字母或数字结尾",
    "use lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit",
  ],
  ...["name part must consist", "a valid label must be"].map((begins): [string, string, string] => [
    begins,
    "只能包含字母、数字、“-”、“_”和“.”，以字母或数字开头和结尾",
    "use letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
  ]),
];

function withoutPatterns(message: string, lang: Lang): string {
  for (const [begins, zh, en] of RULES) {
    const at = message.indexOf(begins);
    if (at >= 0) return message.slice(0, at) + (lang === "zh" ? zh : en);
  }
  return message;
}

/** One thing that is wrong with a field, for beside the field. */
export function causeText(cause: StatusCause, lang: Lang): string {
  const message = withoutPatterns(cause.message ?? "", lang);
  const word = lang === "zh" ? CAUSES[cause.reason ?? ""] : undefined;
  return word ? `${word}（${message}）` : message;
}

const CAUSES: Record<string, string> = {
  FieldValueRequired: "必填",
  FieldValueInvalid: "值无效",
  FieldValueTypeInvalid: "类型不对",
  FieldValueNotSupported: "不支持此值",
  FieldValueDuplicate: "重复",
  FieldValueForbidden: "不允许",
  FieldValueTooLong: "太长",
  FieldValueTooMany: "太多",
};

const VERBS: Record<string, string> = {
  GET: "查看",
  POST: "创建",
  DELETE: "删除",
  PUT: "修改",
  PATCH: "修改",
};
const RESOURCES: Record<string, string> = { queues: "队列", nodes: "节点", podgroups: "队列" };

function nameOf(resource: string): string {
  const kind = JOB_KINDS.find((one) => one.plural === resource)?.kind;
  return RESOURCES[resource] ?? ` ${kind ?? resource} `;
}

const REASONS: Record<string, (what: string) => string> = {
  AlreadyExists: (what) => `${what}已存在，请换一个名称`,
  NotFound: (what) => `${what}不存在，或已被删除`,
  Forbidden: (what) => `没有操作${what} 的权限，请联系管理员`,
  Conflict: (what) => `${what}已被他人修改，请重新加载后再试`,
  Unauthorized: () => "登录已失效，请重新登录",
  Timeout: () => "服务器没有及时响应，请重试",
  TooManyRequests: () => "请求过多，请稍后再试",
  ServiceUnavailable: () => "服务暂时不可用，请稍后再试",
  InternalError: () => "服务器内部错误",
  RequestEntityTooLarge: () => "内容太大",
  Unreachable: () => "无法连接到 muster",
};

/** What it is about: "PyTorchTrainingJob “mnist”". */
function subject(failure: Failure): string {
  const { kind = "", name = "" } = failure.status?.details ?? {};
  const named = JOB_KINDS.find((one) => one.plural === kind)?.kind ?? kind;
  return [named && ` ${named}`, name && ` “${name}”`].join("");
}

export function refusalText(failure: Failure | Error, lang: Lang): string {
  if (!("reason" in failure)) return failure.message;
  const zh = lang === "zh";
  const causes = failure.status?.details?.causes ?? [];
  if (failure.reason === "Invalid" && causes.length)
    return causes
      .map((one) => `${one.field ? one.field + (zh ? "：" : ": ") : ""}${causeText(one, lang)}`)
      .join(zh ? "；" : "; ");
  const resource = failure.status?.details?.kind;
  if (zh && failure.reason === "Forbidden" && resource)
    return `没有${VERBS[failure.method] ?? "操作"}${nameOf(resource)}的权限，请联系管理员`;
  if (!zh) return failure.reason === "Unreachable" ? "muster cannot be reached." : failure.message;
  return REASONS[failure.reason]?.(subject(failure)).trim() ?? failure.message;
}
