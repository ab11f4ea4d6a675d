// "Why?" on the pages of pods and nodes.

import {
  DetailsViewSectionProps,
  registerDetailsViewSection,
  registerPluginSettings,
} from '@kinvolk/headlamp-plugin/lib';
import { PLUGIN, SettingsForm } from './settings';
import { NodeWhy, PodWhy } from './why';

export function WhySection({ resource }: DetailsViewSectionProps) {
  if (resource?.kind === 'Pod') {
    const { namespace = '', name } = resource.metadata;
    return <PodWhy cluster={resource.cluster} namespace={namespace} name={name} />;
  }
  if (resource?.kind === 'Node') {
    return <NodeWhy cluster={resource.cluster} name={resource.metadata.name} />;
  }
  return null;
}

registerDetailsViewSection(WhySection);
registerPluginSettings(PLUGIN, SettingsForm, true);
