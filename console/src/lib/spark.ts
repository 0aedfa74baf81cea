// Values as the path of a small picture. Pure.

/** "" when there is too little to draw. Gaps where there is no value. */
export function sparkPath(values: (number | null)[], width: number, height: number): string {
  const known = values.filter((one): one is number => one !== null && Number.isFinite(one));
  if (known.length < 2) return "";
  const low = Math.min(...known);
  const span = Math.max(...known) - low || 1;
  let pen = "M";
  return values
    .map((one, i) => {
      if (one === null || !Number.isFinite(one)) {
        pen = "M";
        return "";
      }
      const x = 1 + (i * (width - 2)) / (values.length - 1);
      const y = height - 1 - ((one - low) / span) * (height - 2);
      const part = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
      pen = "L";
      return part;
    })
    .join("");
}
