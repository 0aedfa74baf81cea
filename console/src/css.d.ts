// Style sheets are imported for the bundler alone (build.mjs); TypeScript need not look into them.
declare module "*.css";
