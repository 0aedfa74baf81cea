// Signing in with the token that `muster up` prints (or, before a cluster, with one's own).
import { useState } from "preact/hooks";
import { Failure } from "../data/api.ts";
import { signIn } from "../data/session.ts";
import { texts, translator } from "../i18n/index.ts";

const words = texts({
  zh: {
    title: "登录 muster",
    token: "令牌",
    enter: "登录",
    wrong: "令牌不正确。",
    empty: "请输入令牌。",
    where:
      "令牌在 muster 数据目录的 token 文件中；命令 muster console --print 会打印可直接打开的地址。",
    failed: "无法登录：{message}",
  },
  en: {
    title: "Sign in to muster",
    token: "Token",
    enter: "Sign in",
    wrong: "This token is not valid.",
    empty: "Enter the token.",
    where:
      "The token is in the file token of muster's data folder; muster console --print prints an address that opens directly.",
    failed: "Cannot sign in: {message}",
  },
});
const t = translator(words);

export function LoginPage() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!token.trim()) return setProblem(t("empty"));
    setBusy(true);
    try {
      await signIn({ token: token.trim() });
    } catch (error) {
      const failure = error as Failure;
      setProblem(failure.code === 401 ? t("wrong") : t("failed", { message: failure.message }));
    }
    setBusy(false);
  };
  return (
    <div class="login">
      <form onSubmit={(event) => void enter(event)}>
        <h1>{t("title")}</h1>
        <label>
          {t("token")}
          <input
            type="password"
            autoComplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            autofocus
            aria-describedby="where"
            aria-invalid={problem ? "true" : undefined}
          />
        </label>
        {problem ? (
          <p class="danger" role="alert">
            {problem}
          </p>
        ) : null}
        <button type="submit" class="primary" disabled={busy}>
          {t("enter")}
        </button>
        <p class="dim" id="where">
          {t("where")}
        </p>
      </form>
    </div>
  );
}
