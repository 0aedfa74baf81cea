// Conditions as a table: of a job, or of one of its pods.
import type { Condition, Job } from "../../data/types.ts";
import { translator } from "../../i18n/index.ts";
import { jobTexts } from "../../i18n/job.ts";
import { Said } from "../../ui/said.tsx";
import { Ago } from "../../ui/time.tsx";

const t = translator(jobTexts);

export function ConditionTable(props: { conditions: Condition[]; job?: Job }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("type")}</th>
          <th scope="col">{t("status")}</th>
          <th scope="col">{t("changed")}</th>
          <th scope="col">{t("reason")}</th>
          <th scope="col">{t("message")}</th>
        </tr>
      </thead>
      <tbody>
        {props.conditions.map((one) => (
          <tr key={one.type}>
            <td>{one.type}</td>
            <td>{one.status}</td>
            <td>
              <Ago time={one.lastTransitionTime} />
            </td>
            <td>{one.reason}</td>
            <td>
              <Said text={one.message} job={props.job} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
