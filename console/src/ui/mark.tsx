// The mark: three who stand in line, the middle one a head taller; an m at the size of a tab.
export const MARK_PATH = "M5 21v-8M12 21V10M19 21v-8M5 7.6v.01M12 4.6v.01M19 7.6v.01";

export function Mark(props: { size?: number }) {
  const size = props.size ?? 22;
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" class="mark">
      <path d={MARK_PATH} />
    </svg>
  );
}
