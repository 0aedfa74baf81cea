// Why the server refused something, in the reader's language: by the reason and the details of its
// Status, which are meant for programs. In English its own sentence says it best. Pure.
import type { Failure } from "../data/api.ts";
import { JOB_KINDS } from "../data/kinds.ts";
import type { Lang } from "../i18n/index.ts";

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

const REASONS: Record<string, (what: string) => string> = {
  AlreadyExists: (what) => `${what}已存在，请换一个名称`,
  NotFound: (what) => `${what}不存在，或已被删除`,
  Forbidden: (what) => `没有权限操作${what}`,
  Conflict: (what) => `${what}已被他人修改，请重新加载后再试`,
  Unauthorized: () => "登录已失效，请重新登录",
  Timeout: () => "服务器没有及时响应，请重试",
  TooManyRequests: () => "请求过多，请稍后再试",
  ServiceUnavailable: () => "服务暂时不可用，请稍后再试",
  InternalError: () => "服务器内部错误",
  RequestEntityTooLarge: () => "内容太大",
  Unreachable: () => "无法连接到服务器",
};

/** What it is about: "PyTorchTrainingJob “mnist”". */
function subject(failure: Failure): string {
  const { kind = "", name = "" } = failure.status?.details ?? {};
  const named = JOB_KINDS.find((one) => one.plural === kind)?.kind ?? kind;
  return [named && ` ${named}`, name && ` “${name}”`].join("");
}

export function refusalText(failure: Failure | Error, lang: Lang): string {
  if (lang !== "zh" || !("reason" in failure)) return failure.message;
  const causes = failure.status?.details?.causes ?? [];
  if (failure.reason === "Invalid" && causes.length)
    return causes
      .map(({ field, reason, message }) => {
        const word = CAUSES[reason ?? ""];
        return `${field ? `${field}：` : ""}${word ? `${word}（${message ?? ""}）` : (message ?? "")}`;
      })
      .join("；");
  return REASONS[failure.reason]?.(subject(failure)).trim() ?? failure.message;
}
