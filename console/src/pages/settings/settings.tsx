// Language, colours, and what this console is.
import { session } from "../../data/session.ts";
import { lang, setLang, tc, texts, translator } from "../../i18n/index.ts";
import { theme, type Theme } from "../../theme.ts";

const t = translator(
  texts({
    zh: {
      title: "设置",
      appearance: "外观",
      about: "关于",
      version: "版本",
      user: "用户",
      licences: "第三方许可",
      kubectl: "使用 kubectl",
      kubectlHow: "同一 API：在终端运行",
    },
    en: {
      title: "Settings",
      appearance: "Appearance",
      about: "About",
      version: "Version",
      user: "User",
      licences: "Third-party licences",
      kubectl: "With kubectl",
      kubectlHow: "The same API: type in a terminal",
    },
  }),
);

export default function SettingsPage() {
  const themes: Theme[] = ["system", "light", "dark"];
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
      <h2>{t("appearance")}</h2>
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
      <h2>{t("kubectl")}</h2>
      <p>
        {t("kubectlHow")} <code>export KUBECONFIG=$(muster kubeconfig)</code>
      </p>
      <h2>{t("about")}</h2>
      <table>
        <tbody>
          <tr>
            <th scope="row">{t("version")}</th>
            <td class="mono">{session.value?.version}</td>
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
        </a>
      </p>
    </section>
  );
}
