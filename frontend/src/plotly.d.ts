declare module "plotly.js-cartesian-dist-min" {
  const Plotly: {
    react(element: HTMLElement, data: object[], layout: object, config?: object): Promise<unknown>;
  };
  export default Plotly;
}
