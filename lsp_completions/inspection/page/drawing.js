// Pictures in SVG: what is drawn is made of numbers that are given, and of nothing else.

const SVG = "http://www.w3.org/2000/svg";
const LEAST_SPAN = 400; // milliseconds, so that quick answers do not look slow

export function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function told(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  if (Math.abs(milliseconds) < 10) return `${milliseconds.toFixed(1)} ms`;
  if (Math.abs(milliseconds) < 1000) return `${Math.round(milliseconds)} ms`;
  return `${(milliseconds / 1000).toFixed(milliseconds < 10000 ? 2 : 1)} s`;
}

// How many milliseconds the bars of all requests span: nearly all of the longest.
export function spanOf(requests) {
  const all = requests.map((each) => each.times.answered ?? 0).sort((a, b) => a - b);
  const most = all.length ? all[Math.min(all.length - 1, Math.floor(all.length * 0.97))] : 0;
  return niceAbove(Math.max(most, LEAST_SPAN));
}

function niceAbove(number) {
  const unit = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 4, 5, 8, 10].map((each) => each * unit).find((each) => each >= number);
}

export function axis(svg, span) {
  const width = svg.clientWidth || 300;
  svg.replaceChildren();
  for (const part of width < 300 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]) {
    const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
    const text = part === 0 ? "0" : told(span * part).replace(".00", "");
    svg.append(shape("text", { x: part * width, y: 11, "text-anchor": anchor }, text));
  }
}

// One request: what was waited for, from left to right, and how it ended.
export function bar(svg, request, span) {
  const width = svg.clientWidth || 300;
  const x = (time) => Math.max(0, Math.min(1, time / span)) * width;
  const { prompt, sent, firstText, answered } = request.times;
  svg.replaceChildren();
  for (const part of [0.25, 0.5, 0.75]) {
    svg.append(shape("line", { class: "grid", x1: part * width, x2: part * width, y1: 0, y2: 18 }));
  }
  const end = answered ?? 0;
  const piece = (kind, from, to) => {
    const left = x(from);
    svg.append(shape("rect", { class: kind, x: left, y: 5, width: Math.max(x(to) - left, 2), height: 8, rx: 2 }));
  };
  if (sent !== null) {
    const begins = Math.max(0, sent);
    if (begins > 1) piece("pause", 0, begins);
    const speaks = firstText === null ? end : Math.max(0, Math.min(firstText, end));
    if (speaks > begins) piece("model", begins, speaks);
    if (firstText !== null) piece("text", speaks, end);
  } else if (request.reason === null) {
    piece("memory", 0, end);
  } else {
    piece("none", 0, prompt === null ? end : Math.min(prompt, end));
  }
  if (end > span) {
    svg.append(shape("path", { class: "none", d: `M${width - 7} 3 L${width} 9 L${width - 7} 15 Z` }));
  }
}

const MARGIN = { left: 40, right: 8, top: 6, bottom: 18 };

// Each suggestion as a dot: when, and how long it took, on a scale of powers of ten.
export function waits(svg, requests) {
  const width = svg.clientWidth || 400, height = svg.clientHeight || 150;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const shown = requests.filter((each) => each.reason === null && each.times.answered !== null);
  const low = 1, high = 10000;
  const y = (time) => {
    const part = Math.log10(Math.max(low, Math.min(high, time)) / low) / Math.log10(high / low);
    return height - MARGIN.bottom - part * (height - MARGIN.top - MARGIN.bottom);
  };
  for (const [time, name] of [[1, "1 ms"], [10, "10"], [100, "100"], [1000, "1 s"], [10000, "10 s"]]) {
    svg.append(shape("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(time), y2: y(time) }));
    svg.append(shape("text", { x: MARGIN.left - 8, y: y(time) + 4, "text-anchor": "end" }, name));
  }
  if (!shown.length) return nothing(svg, width, height, "No suggestion yet in this session");
  const times = shown.map((each) => each.at);
  const first = Math.min(...times), last = Math.max(...times, first + 30);
  const x = (at) => MARGIN.left + 6 + ((at - first) / (last - first)) * (width - MARGIN.left - MARGIN.right - 12);
  for (const each of shown) {
    const kind = { "from memory": "memory", "asked anew": "asked" }[each.how] ?? "joined";
    const dot = shape("circle", { class: kind, cx: x(each.at), cy: y(each.times.answered), r: 3.2, "fill-opacity": 0.8 });
    dot.append(shape("title", {}, `${each.path}:${each.line}, ${told(each.times.answered)}`));
    svg.append(dot);
  }
  for (const [at, anchor] of [[first, "start"], [last, "end"]]) {
    svg.append(shape("text", { x: x(at), y: height - 3, "text-anchor": anchor }, clock(at)));
  }
}

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString([], { hour12: false });
}

// Two bars for each of the last days: suggestions, and before them those accepted.
export function days(svg, perDay) {
  const width = svg.clientWidth || 400, height = svg.clientHeight || 150;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  if (!perDay.length) return nothing(svg, width, height, "Nothing was counted yet");
  const all = everyDay(perDay);
  const most = niceAbove(Math.max(...all.map((each) => each.suggestions), 5));
  const inner = height - MARGIN.top - MARGIN.bottom, step = (width - MARGIN.left - MARGIN.right) / all.length;
  const y = (count) => height - MARGIN.bottom - (count / most) * inner;
  for (const part of [0, 0.5, 1]) {
    const at = y(most * part);
    svg.append(shape("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: at, y2: at }));
    svg.append(shape("text", { x: MARGIN.left - 8, y: at + 4, "text-anchor": "end" }, String(most * part)));
  }
  const wide = Math.max(2, Math.min(22, step - 3));
  all.forEach((each, number) => {
    const left = MARGIN.left + step * number + (step - wide) / 2;
    for (const [kind, count] of [["suggested", each.suggestions], ["accepted", each.accepted]]) {
      if (!count) continue;
      const box = { class: kind, x: left, y: y(count), width: wide, height: y(0) - y(count), rx: 1.5 };
      const drawn = shape("rect", box);
      drawn.append(shape("title", {}, `${each.day}: ${each.suggestions} suggested, ${each.accepted} accepted`));
      svg.append(drawn);
    }
  });
  const last = all.length - 1;
  for (const [number, anchor, at] of [[0, "start", MARGIN.left], [last, "end", width - MARGIN.right]]) {
    if (number === 0 && last === 0) continue;
    svg.append(shape("text", { x: at, y: height - 3, "text-anchor": anchor }, all[number].day.slice(5)));
  }
}

function everyDay(perDay) {
  const known = new Map(perDay.map((each) => [each.day, each]));
  const all = [];
  const end = new Date().toISOString().slice(0, 10);
  const last = new Date((perDay.at(-1).day > end ? perDay.at(-1).day : end) + "T00:00:00Z");
  const first = new Date(Math.min(new Date(perDay[0].day + "T00:00:00Z"), last - 13 * 86400000));
  for (let day = first; day <= last; day = new Date(+day + 86400000)) {
    const name = day.toISOString().slice(0, 10);
    all.push(known.get(name) ?? { day: name, suggestions: 0, accepted: 0 });
  }
  return all;
}

function nothing(svg, width, height, words) {
  svg.append(shape("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, words));
}
