// How much of something there is: what is allocated striped up to a mark, what is used as a full bar.
export function Gauge(props: {
  all: number;
  used: number | undefined;
  allocated?: number;
  /** All of it in words: for who does not see the bars, and on hover. */
  label: string;
}) {
  const part = (n: number): string =>
    `${Math.min(100, Math.max(0, (100 * n) / (props.all || 1))).toFixed(1)}%`;
  return (
    <span
      class="gauge"
      role="meter"
      aria-label={props.label}
      title={props.label}
      aria-valuemin={0}
      aria-valuemax={props.all}
      aria-valuenow={props.used ?? props.allocated ?? 0}
    >
      {props.allocated === undefined ? null : (
        <span class="gauge-allocated" style={{ width: part(props.allocated) }} />
      )}
      {props.used === undefined ? null : (
        <span class="gauge-used" style={{ width: part(props.used) }} />
      )}
      {props.allocated ? <span class="gauge-mark" style={{ left: part(props.allocated) }} /> : null}
    </span>
  );
}
