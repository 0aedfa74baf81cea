// Language, colours, and what this console is.
import { session } from "../../data/session.ts";
import { lang, setLang, tc, texts, translator } from "../../i18n/index.ts";
import { setUtc, utc } from "../../lib/time.ts";
import { density, theme } from "../../theme.ts";
import { Notifications } from "./notifications.tsx";

const t = translator(
  texts({
    zh: {
      title: "设置",
      density: "密度",
      design: "设计系统",
      about: "关于",
      version: "版本",
      user: "用户",
      licences: "第三方许可",
      kubectl: "使用 kubectl",
      kubectlHow: "同一个 API，在终端运行：",
      kubectlThere: "同一个 API，使用此集群的 kubeconfig：",
      times: "时间",
      local: "本地时间",
      utc: "UTC",
    },
    en: {
      title: "Settings",
      density: "Density",
      design: "Design system",
      about: "About",
      version: "Version",
      user: "User",
      licences: "Third-party licences",
      kubectl: "With kubectl",
      kubectlHow: "The same API; run this in a terminal:",
      kubectlThere: "The same API; use this cluster's kubeconfig:",
      times: "Times",
      local: "Local time",
      utc: "UTC",
    },
  }),
);

function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function shellWord(text: string): string {
  return /^[\w./+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function Choice<Value extends string>(props: {
  name: string;
  title: string;
  value: Value;
  options: Record<Value, string>;
  choose: (value: Value) => void;
}) {
  return (
    <fieldset class="setting">
      <legend>{props.title}</legend>
      {(Object.keys(props.options) as Value[]).map((one) => (
        <label key={one}>
          <input
            type="radio"
            name={props.name}
            checked={props.value === one}
            onChange={() => props.choose(one)}
          />{" "}
          {props.options[one]}
        </label>
      ))}
    </fieldset>
  );
}

export default function SettingsPage() {
  const kubeconfig = session.value?.kubeconfig;
  return (
    <section class="settings">
      <div class="page-head">
        <h1>{t("title")}</h1>
      </div>
      <Choice
        name="lang"
        title={tc("language")}
        value={lang.value}
        options={{ zh: "中文", en: "English" }}
        choose={setLang}
      />
      <Choice
        name="theme"
        title={tc("appearance")}
        value={theme.value}
        options={{ system: tc("system"), light: tc("light"), dark: tc("dark") }}
        choose={(one) => {
          theme.value = one;
        }}
      />
      <Choice
        name="density"
        title={t("density")}
        value={density.value}
        options={{ comfortable: tc("comfortable"), compact: tc("compact") }}
        choose={(one) => {
          density.value = one;
        }}
      />
      <Choice
        name="utc"
        title={t("times")}
        value={utc.value ? "utc" : "local"}
        options={{ local: `${t("local")} (${zoneName()})`, utc: t("utc") }}
        choose={(one) => setUtc(one === "utc")}
      />
      <Notifications />
      <h2>{t("kubectl")}</h2>
      <p>
        {t(kubeconfig ? "kubectlHow" : "kubectlThere")}{" "}
        <code>{kubeconfig ? `export KUBECONFIG=${shellWord(kubeconfig)}` : "kubectl"}</code>
      </p>
      <h2>{t("about")}</h2>
      <table>
        <tbody>
          <tr>
            <th scope="row">{t("version")}</th>
            <td class="mono">muster {session.value?.version}</td>
          </tr>
          <tr>
            <th scope="row">{t("user")}</th>
            <td>{session.value?.user}</td>
          </tr>
        </tbody>
      </table>
      <p>
        <a href="/assets/THIRD_PARTY.txt" target="_blank" rel="noopener noreferrer">
          {t("licences")}
        </a>{" "}
        · <a href="/design">{t("design")}</a>
      </p>
    </section>
  );
}
