/** The icons of the page. They are decorative: text accompanies them, or the button has a label. */

const SHAPES = {
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  plus: "M8 3v10M3 8h10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3 13.5 13.5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  archive: "M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.500h3",
  pin: "M6 2.500h4l-.5 4.500 2 2.500h-7l2-2.500zM8 9.500V14",
  unpin: "M6 2.500h4l-.5 4.500 2 2.500h-7l2-2.500zM8 9.500V14M2.500 2.500l11 11",
  shield: "M8 2l5 1.800v4c0 3-2 5.2-5 6.4-3-1.2-5-3.4-5-6.400v-4z",
  bars: "M3.500 13V8.500M8 13V3M12.500 13V6",
  agents: "M4.5 4.500h7v7h-7zM6.5 2v2.500M9.5 2v2.500M6.5 11.500V14M9.5 11.500V14M2 6.500h2.500M2 9.500h2.500M11.5 6.500H14M11.5 9.500H14",
  settings: "M2.5 5h5M11 5h2.500M2.5 11H5M8.5 11h5M9.3 3.300a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.400M6.7 9.300a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4",
  close: "M4 4l8 8M12 4l-8 8",
  folder: "M2 4h4l1.5 2H14v7H2z",
  fork: "M5 4v8M11 4v1.500a2 2 0 0 1-2 2H5M5 2.500a1 1 0 1 0 0 2 1 1 0 0 0 0-2M5 11.500a1 1 0 1 0 0 2 1 1 0 0 0 0-2M11 2.500a1 1 0 1 0 0 2 1 1 0 0 0 0-2",
  rename: "M10.8 2.700l2.5 2.500L6 12.500l-3.2.7.7-3.200z",
  trash: "M2.5 4h11M6 4V2.500h4V4M4 4l.6 9.500h6.800L12 4",
  thread: "M2.500 3h11v8h-5.500l-3 2.500V11h-2.500z",
  filter: "M2.5 4h11M4.5 8h7M6.5 12h3",
  download: "M8 2.5v8M4.5 7.5L8 11l3.5-3.500M2.5 13.500h11",
  print: "M4.5 6V2.500h7V6M4.5 11.500h-2V6h11v5.500h-2M4.5 9.500h7v4h-7z",
  back: "M9.5 3.5 5 8l4.5 4.5",
  bell: "M8 2.500a3.5 3.5 0 0 0-3.5 3.500v3L3 11.500h10L11.5 9V6A3.5 3.5 0 0 0 8 2.500M6.7 13.500h2.6",
  help: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M6.2 6.300a1.9 1.9 0 1 1 2.6 1.800c-.5.2-.8.6-.8 1.200M8 11v.5",
  link: "M6.5 9.5 9.5 6.500M7 4.500l1.3-1.300a2.9 2.9 0 0 1 4.1 4.100L11 8.700M9 11.500l-1.3 1.300a2.9 2.9 0 0 1-4.1-4.100L5 7.3",
  share: "M8 10V2.500M5 5.200 8 2.300l3 2.900M4.500 7.500H3.300v6h9.400v-6h-1.200",
  check: "M3 8.500l3.3 3.300L13 4.5",
  read: "M3 2.5h7l3 3v8H3zM9.5 2.5v3.5H13M5.5 8.5h5M5.5 11h3.5",
  edit: "M10.8 2.7l2.5 2.5L6 12.5l-3.2.7.7-3.2zM9.3 4.2l2.5 2.5",
  delete: "M2.5 4h11M6 4V2.5h4V4M4 4l.6 9.5h6.8L12 4M6.7 6.5v4.5M9.3 6.5v4.5",
  move: "M2 8h11M9.5 4.5L13 8l-3.5 3.5",
  execute: "M2.5 3h11v10h-11zM5 6.2L7 8l-2 1.8M8.5 10h2.5",
  think: "M8 2a4.2 4.2 0 0 0-2.3 7.7V11.5h4.6V9.7A4.2 4.2 0 0 0 8 2M6.3 13.7h3.4",
  fetch: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M2 8h12M8 2c-4.3 4-4.3 8 0 12 4.3-4 4.3-8 0-12",
  switch_mode: "M2.5 5h9M8.8 2.5L11.5 5 8.8 7.5M13.5 11h-9M7.2 8.5L4.5 11l2.7 2.5",
  other: "M9.7 2.6a3.6 3.6 0 0 0-4.3 4.8L2.3 10.5a1.5 1.5 0 0 0 0 2.1l1.1 1.1a1.5 1.5 0 0 0 2.1 0l3.1-3.1a3.6 3.6 0 0 0 4.8-4.3L11.2 8.500 8.900 7.800 7.500 7.100 7.600 4.800z",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.500V2.500h-8v8h3",
  cross: "M4 4l8 8M12 4l-8 8",
  warning: "M8 2.500l6 11H2zM8 6.500v3.200M8 11.300v.5",
  info: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 7.300v3.700M8 4.800v.5",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  send: "M8 13.500V3M3.500 7.500L8 3l4.500 4.500",
  stop: "M4.500 4.500h7v7h-7z",
  attach: "M12.800 7.300L7.700 12.400a3 3 0 0 1-4.300-4.300l5.300-5.300a2 2 0 0 1 2.900 2.900L6.500 10.800a1 1 0 0 1-1.400-1.400l4.600-4.600",
  file: "M4 2h5.500L12.500 5v9H4zM9.300 2v3.300h3.200",
  question: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M6.200 6.300a1.900 1.900 0 1 1 2.600 1.800c-.5.2-.8.600-.8 1.200M8 11v.5",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, size = 16, class: className }: { name: IconName; size?: number; class?: string }) {
  return (
    <svg class={className} viewBox="0 0 16 16" width={size} height={size} fill="none" aria-hidden="true">
      <path
        d={SHAPES[name]}
        stroke="currentColor"
        stroke-width={name === "more" ? 2 : 1.3}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
