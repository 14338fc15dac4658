/** The icons of the shell. They are decorative: text accompanies them, or the button has a label. */

const SHAPES = {
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  plus: "M8 3v10M3 8h10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3 13.5 13.5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  archive: "M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.500h3",
  shield: "M8 2l5 1.800v4c0 3-2 5.2-5 6.4-3-1.2-5-3.4-5-6.400v-4z",
  agents: "M4.5 4.500h7v7h-7zM6.5 2v2.500M9.5 2v2.500M6.5 11.500V14M9.5 11.500V14M2 6.500h2.500M2 9.500h2.500M11.5 6.500H14M11.5 9.500H14",
  settings: "M2.5 5h5M11 5h2.500M2.5 11H5M8.5 11h5M9.3 3.300a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.400M6.7 9.300a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4",
  close: "M4 4l8 8M12 4l-8 8",
  folder: "M2 4h4l1.5 2H14v7H2z",
  fork: "M5 4v8M11 4v1.500a2 2 0 0 1-2 2H5M5 2.500a1 1 0 1 0 0 2 1 1 0 0 0 0-2M5 11.500a1 1 0 1 0 0 2 1 1 0 0 0 0-2M11 2.500a1 1 0 1 0 0 2 1 1 0 0 0 0-2",
  rename: "M10.8 2.700l2.5 2.500L6 12.500l-3.2.7.7-3.200z",
  trash: "M2.5 4h11M6 4V2.500h4V4M4 4l.6 9.500h6.800L12 4",
  back: "M9.5 3.5 5 8l4.5 4.5",
  bell: "M8 2.500a3.5 3.5 0 0 0-3.5 3.500v3L3 11.500h10L11.5 9V6A3.5 3.5 0 0 0 8 2.500M6.7 13.500h2.6",
  help: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M6.2 6.300a1.9 1.9 0 1 1 2.6 1.800c-.5.2-.8.6-.8 1.200M8 11v.5",
  link: "M6.5 9.5 9.5 6.500M7 4.500l1.3-1.300a2.9 2.9 0 0 1 4.1 4.100L11 8.700M9 11.500l-1.3 1.300a2.9 2.9 0 0 1-4.1-4.100L5 7.3",
  check: "M3 8.500l3.3 3.300L13 4.5",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} fill="none" aria-hidden="true">
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
