// Language, colours, and what this console is.
import { session } from "../../data/session.ts";
import { lang, setLang, tc, texts, translator } from "../../i18n/index.ts";
import { setUtc, utc } from "../../lib/time.ts";
import { density, theme, type Density, type Theme } from "../../theme.ts";
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

export default function SettingsPage() {
  const kubeconfig = session.value?.kubeconfig;
  const themes: Theme[] = ["system", "light", "dark"];
  const densities: Density[] = ["comfortable", "compact"];
  return (
    <section class="settings">
      <div class="page-head">
        <h1>{t("title")}</h1>
      </div>
      <h2>{tc("language")}</h2>
      {(["zh", "en"] as const).map((one) => (
        <label key={one} class="choice">
          <input
            type="radio"
            name="lang"
            checked={lang.value === one}
            onChange={() => setLang(one)}
          />{" "}
          {one === "zh" ? "中文" : "English"}
        </label>
      ))}
      <h2>{tc("appearance")}</h2>
      {themes.map((one) => (
        <label key={one} class="choice">
          <input
            type="radio"
            name="theme"
            checked={theme.value === one}
            onChange={() => {
              theme.value = one;
            }}
          />{" "}
          {tc(one)}
        </label>
      ))}
      <h2>{t("density")}</h2>
      {densities.map((one) => (
        <label key={one} class="choice">
          <input
            type="radio"
            name="density"
            checked={density.value === one}
            onChange={() => {
              density.value = one;
            }}
          />{" "}
          {tc(one)}
        </label>
      ))}
      <h2>{t("times")}</h2>
      {[false, true].map((one) => (
        <label key={String(one)} class="choice">
          <input type="radio" name="utc" checked={utc.value === one} onChange={() => setUtc(one)} />{" "}
          {t(one ? "utc" : "local")} <span class="dim">{one ? "" : zoneName()}</span>
        </label>
      ))}
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
