/** Small plots in SVG. Each has a name and says its numbers to a screen reader; hovering shows one point. */
import { useId, useLayoutEffect, useRef, useState, type ReactElement, type ReactNode } from "react";
import { number } from "@/lib/words";

export type Part = { readonly id: string; readonly label: string; readonly value: number; readonly tone: Tone };
export type Tone = "open" | "locked" | "wants" | "broken" | "gone" | "plot-1" | "plot-2" | "plot-3" | "plot-4" | "plot-5" | "plot-6";

/** Parts of a whole, side by side, with a legend in words. */
export function StackedBar({
  name,
  parts,
  total,
  legend = true,
  show = number,
}: {
  name: string;
  parts: readonly Part[];
  /** The whole, if the parts do not fill it. */
  total?: number;
  legend?: boolean;
  show?: (value: number) => string;
}): ReactElement {
  const sum = parts.reduce((all, part) => all + part.value, 0);
  const whole = Math.max(total ?? sum, sum, 1e-9);
  const words = parts.map((part) => `${part.label} ${show(part.value)}`).join(", ");
  return (
    <figure className="plot-bar">
      <div className="bar" role="img" aria-label={`${name}: ${words}`}>
        {parts.map((part) =>
          part.value > 0 ? (
            <span
              key={part.id}
              className={`bar-part fill-${part.tone}`}
              style={{ width: `${(part.value / whole) * 100}%` }}
              title={`${part.label}: ${show(part.value)}`}
            />
          ) : null,
        )}
      </div>
      {legend && (
        <figcaption className="legend">
          {parts.map((part) => (
            <span key={part.id}>
              <i className={`fill-${part.tone}`} aria-hidden="true" />
              {part.label} <b>{show(part.value)}</b>
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  );
}

/** A line without axes, as high as the text beside it. */
export function Sparkline({ name, values, width = 96, height = 24 }: { name: string; values: readonly number[]; width?: number; height?: number }): ReactElement {
  const most = Math.max(...values, 1e-9);
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`);
  const told = values.length === 0 ? "nothing yet" : `last ${number(values.at(-1) ?? 0)}, most ${number(most)}`;
  return (
    <svg className="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${name}: ${told}`}>
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}

export type Line = { readonly id: string; readonly label: string; readonly tone: Tone; readonly values: readonly (number | null)[] };

const LEFT = 44;
const BOTTOM = 20;
const TOP = 8;

function useWidth(): readonly [React.RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watching = new ResizeObserver(() => setWidth(element.clientWidth));
    watching.observe(element);
    setWidth(element.clientWidth);
    return () => watching.disconnect();
  }, []);
  return [box, width];
}

/** A round number at or above the largest value: 1, 2 or 5 times a power of ten. */
export function ceiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 5, 10]) if (value <= step * power) return step * power;
  return 10 * power;
}

type Plot = {
  readonly name: string;
  /** One label a bucket. */
  readonly at: readonly string[];
  readonly show?: (value: number) => string;
  readonly height?: number;
};

function Frame({
  name,
  at,
  show = number,
  height = 160,
  most,
  legend,
  told,
  draw,
}: Plot & {
  most: number;
  legend: ReactNode;
  told: (at: number) => ReactNode;
  draw: (x: (at: number) => number, y: (value: number) => number, step: number) => ReactNode;
}): ReactElement {
  const [box, width] = useWidth();
  const [over, setOver] = useState<number | null>(null);
  const top = ceiling(most);
  const inner = Math.max(width - LEFT - 8, 1);
  const step = inner / Math.max(at.length, 1);
  const x = (each: number): number => LEFT + step * (each + 0.5);
  const y = (value: number): number => TOP + (height - TOP - BOTTOM) * (1 - value / top);
  return (
    <figure className="plot">
      <figcaption className="row apart">
        <span className="plot-name">{name}</span>
        <span className="legend">{legend}</span>
      </figcaption>
      <div ref={box} className="plot-box" style={{ height }}>
        {width > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={`${name}, ${at.length} moments from ${at[0] ?? "–"} to ${at.at(-1) ?? "–"}, at most ${show(most)}`}
            onMouseLeave={() => setOver(null)}
            onMouseMove={(event) => {
              const left = event.currentTarget.getBoundingClientRect().left;
              const found = Math.floor((event.clientX - left - LEFT) / step);
              setOver(found >= 0 && found < at.length ? found : null);
            }}
          >
            {[0, 0.5, 1].map((part) => (
              <g key={part}>
                <line className="plot-rule" x1={LEFT} x2={width - 8} y1={y(top * part)} y2={y(top * part)} />
                <text className="plot-tick" x={LEFT - 6} y={y(top * part) + 4} textAnchor="end">
                  {show(top * part)}
                </text>
              </g>
            ))}
            {[0, Math.floor((at.length - 1) / 2), at.length - 1]
              .filter((each, place, all) => each >= 0 && all.indexOf(each) === place)
              .map((each, place, all) => (
                <text
                  key={each}
                  className="plot-tick"
                  x={x(each)}
                  y={height - 4}
                  textAnchor={place === 0 && all.length > 1 ? "start" : place === all.length - 1 && all.length > 1 ? "end" : "middle"}
                >
                  {at[each]}
                </text>
              ))}
            {draw(x, y, step)}
            {over !== null && <line className="plot-over" x1={x(over)} x2={x(over)} y1={TOP} y2={height - BOTTOM} />}
          </svg>
        )}
        {over !== null && (
          <div className={`plot-told ${x(over) > width / 2 ? "is-left" : ""}`} style={{ left: x(over) }} aria-hidden="true">
            <b>{at[over]}</b>
            {told(over)}
          </div>
        )}
      </div>
    </figure>
  );
}

/** Lines over time; `band` fills between the first two. */
export function LinePlot({ lines, band = false, ...plot }: Plot & { lines: readonly Line[]; band?: boolean }): ReactElement {
  const show = plot.show ?? number;
  const most = Math.max(0, ...lines.flatMap((line) => line.values.map((value) => value ?? 0)));
  return (
    <Frame
      {...plot}
      most={most}
      legend={lines.map((line) => (
        <span key={line.id}>
          <i className={`fill-${line.tone}`} aria-hidden="true" />
          {line.label}
        </span>
      ))}
      told={(at) =>
        lines.map((line) => (
          <span key={line.id}>
            {line.label} {line.values[at] == null ? "–" : show(line.values[at])}
          </span>
        ))
      }
      draw={(x, y) => (
        <>
          {band && lines.length > 1 && <path className="plot-band" d={between(lines[0] as Line, lines[1] as Line, x, y)} />}
          {lines.map((line) => (
            <path key={line.id} className={`plot-line line-${line.tone}`} d={drawn(line.values, x, y)} />
          ))}
          {lines.map((line) =>
            alone(line.values).map(([at, value]) => (
              <circle key={`${line.id} ${at}`} className={`fill-${line.tone}`} cx={x(at)} cy={y(value)} r={3} />
            )),
          )}
        </>
      )}
    />
  );
}

function drawn(values: Line["values"], x: (at: number) => number, y: (value: number) => number): string {
  let pen = "M";
  let path = "";
  values.forEach((value, at) => {
    if (value === null) {
      pen = "M";
      return;
    }
    path += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

/** Values without another beside them: no line goes through them, so they are dots. */
export function alone(values: Line["values"]): readonly (readonly [number, number])[] {
  return values.flatMap((value, at) => {
    const isAlone = value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null;
    return isAlone ? [[at, value] as const] : [];
  });
}

function between(low: Line, high: Line, x: (at: number) => number, y: (value: number) => number): string {
  const there = high.values.map((value, at) => [value, low.values[at] ?? null, at] as const).filter(([up, down]) => up !== null && down !== null);
  if (there.length < 2) return "";
  const above = there.map(([up, , at]) => `${x(at).toFixed(1)} ${y(up ?? 0).toFixed(1)}`);
  const below = there.map(([, down, at]) => `${x(at).toFixed(1)} ${y(down ?? 0).toFixed(1)}`).reverse();
  return `M${above.join("L")}L${below.join("L")}Z`;
}

/** Columns over time, each of several parts. */
export function ColumnPlot({ series, ...plot }: Plot & { series: readonly Line[] }): ReactElement {
  const id = useId();
  const show = plot.show ?? number;
  const sums = plot.at.map((_, at) => series.reduce((all, line) => all + (line.values[at] ?? 0), 0));
  return (
    <Frame
      {...plot}
      most={Math.max(0, ...sums)}
      legend={series.map((line) => (
        <span key={line.id}>
          <i className={`fill-${line.tone}`} aria-hidden="true" />
          {line.label}
        </span>
      ))}
      told={(at) =>
        series.map((line) => (
          <span key={line.id}>
            {line.label} {show(line.values[at] ?? 0)}
          </span>
        ))
      }
      draw={(x, y, step) =>
        plot.at.map((_, at) => {
          let sum = 0;
          return series.map((line) => {
            const value = line.values[at] ?? 0;
            if (value <= 0) return null;
            const from = y(sum);
            sum += value;
            const wide = Math.max(3, Math.min(step - 2, 28));
            return (
              <rect
                key={`${id}${line.id}${at}`}
                className={`fill-${line.tone}`}
                x={x(at) - wide / 2}
                width={wide}
                y={y(sum)}
                height={Math.max(from - y(sum), 0.5)}
              />
            );
          });
        })
      }
    />
  );
}
