// The frame's behaviour on every page. Everything it does has a plain link or form beneath it.
import { startAges } from "./frame/ages";
import { startChoosers } from "./frame/choosers";
import { startGrids } from "./frame/grid";
import { startLive } from "./frame/live";
import { startMoments } from "./frame/moment-inputs";
import { startDialogs } from "./frame/palette";
import { startPasskeys } from "./frame/passkeys";
import { startPicks } from "./frame/pick";
import { startReveals } from "./frame/reveal";
import { startSelections } from "./frame/selection";
import { startSliders } from "./frame/sliders";
import { startStreams } from "./frame/stream";
import { startTheme } from "./frame/theme";

startTheme();
startAges();
startChoosers();
startDialogs();
startGrids();
startLive();
startMoments();
startPasskeys();
startPicks();
startReveals();
startSelections();
startSliders();
startStreams();
