// The colours of curves: twelve that can be told apart, by colour-blind people too, in both themes
// (style/charts.css). The thirteenth has the first colour and is dashed.
export const COLOURS = 12;
const DASHES: readonly number[][] = [[], [8, 3], [2, 3], [10, 3, 2, 3]];

export interface Look {
  colour: string; // a custom property's name
  dash: number[];
}

export function lookOf(i: number): Look {
  return {
    colour: `--curve-${(i % COLOURS) + 1}`,
    dash: DASHES[Math.floor(i / COLOURS) % DASHES.length]!,
  };
}
